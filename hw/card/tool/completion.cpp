// SPDX-License-Identifier: BSD-2-Clause
//
// dingo completion SHELL: a script for the shell to read. It asks `dingo card list -q` for names.
#include <fmt/format.h>

#include <memory>

#include "tool/commands.h"
#include "tool/error.h"

namespace dingo::tool {
namespace {

constexpr const char* kStartOptions =
    "--ip --wire --faults --pcap --engine --mac --mtu --device-memory --share --one-process "
    "--own-process --help";

constexpr const char* kBash = R"SH(# source <(dingo completion bash)
_dingo() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}
    COMPREPLY=()
    if [ "${{COMP_WORDS[1]}}" = run ]; then
        local i
        for ((i = 2; i < COMP_CWORD; i++)); do
            case ${{COMP_WORDS[i]}} in
                --) _command_offset $((i + 1)) 2>/dev/null; return ;;
            esac
        done
    fi
    case $prev in
        --card|-c|stop|show|stats) COMPREPLY=($(compgen -W "$(dingo card list -q 2>/dev/null) --json --all --watch" -- "$cur")); return ;;
        --wire) COMPREPLY=($(compgen -W "shm roce udp: unix: tap: packet: none" -- "$cur")); return ;;
        --mtu) COMPREPLY=($(compgen -W "256 512 1024 2048 4096" -- "$cur")); return ;;
        --pcap) COMPREPLY=($(compgen -f -- "$cur")); return ;;
        completion) COMPREPLY=($(compgen -W "bash zsh fish" -- "$cur")); return ;;
        card) COMPREPLY=($(compgen -W "start stop list show" -- "$cur")); return ;;
        dingo) COMPREPLY=($(compgen -W "run card stats doctor completion --help --version --json" -- "$cur")); return ;;
    esac
    case ${{COMP_WORDS[1]}} in
        run) COMPREPLY=($(compgen -W "--card {0} --" -- "$cur")) ;;
        card) COMPREPLY=($(compgen -W "{0} --json" -- "$cur")) ;;
        stats) COMPREPLY=($(compgen -W "--watch --json $(dingo card list -q 2>/dev/null)" -- "$cur")) ;;
        doctor) COMPREPLY=($(compgen -W "--json --help" -- "$cur")) ;;
    esac
}}
complete -F _dingo dingo
)SH";

constexpr const char* kZsh = R"SH(#compdef dingo
# source <(dingo completion zsh)
_dingo() {{
    local -a options
    options=({0})
    case $words[2] in
        run)
            if (( $words[(Ie)--] )); then
                shift 1 words; (( CURRENT-- ))
                while [[ $words[1] != -- ]]; do shift 1 words; (( CURRENT-- )); done
                shift 1 words; (( CURRENT-- ))
                _normal
            elif [[ $words[CURRENT-1] = (--card|-c) ]]; then
                compadd -- $(dingo card list -q 2>/dev/null)
            else
                compadd -- --card $options --
            fi ;;
        card)
            if (( CURRENT == 3 )); then compadd start stop list show
            elif [[ $words[3] = start ]]; then compadd -- $options --json
            else compadd -- --json --all $(dingo card list -q 2>/dev/null); fi ;;
        stats) compadd -- --watch --json $(dingo card list -q 2>/dev/null) ;;
        doctor) compadd -- --json --help ;;
        completion) compadd bash zsh fish ;;
        *) compadd -- run card stats doctor completion --help --version --json ;;
    esac
}}
compdef _dingo dingo
)SH";

constexpr const char* kFish = R"SH(# dingo completion fish | source
complete -c dingo -f
complete -c dingo -n __fish_use_subcommand -a 'run card stats doctor completion'
complete -c dingo -n '__fish_seen_subcommand_from card' -a 'start stop list show'
complete -c dingo -n '__fish_seen_subcommand_from stop show stats' -a '(dingo card list -q 2>/dev/null)'
complete -c dingo -n '__fish_seen_subcommand_from run' -s c -l card -x -a '(dingo card list -q 2>/dev/null)'
complete -c dingo -n '__fish_seen_subcommand_from run; and contains -- -- (commandline -opc)' -a '(__fish_complete_subcommand --fcs-skip=2)'
for o in {0}
    complete -c dingo -n '__fish_seen_subcommand_from run start' -l (string sub -s 3 -- $o)
end
complete -c dingo -n '__fish_seen_subcommand_from stats' -s w -l watch
complete -c dingo -n '__fish_seen_subcommand_from card stats doctor' -l json
complete -c dingo -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'
)SH";

int completion(const std::string& shell) {
    const char* const script = shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish;
    fmt::print(fmt::runtime(script), kStartOptions);
    return kSuccess;
}

}  // namespace

void add_completion(CLI::App& app, Action& action) {
    auto* const cmd = app.add_subcommand("completion", "Print a completion script for a shell");
    const auto shell = std::make_shared<std::string>();
    cmd->add_option("SHELL", *shell, "bash, zsh or fish")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
    cmd->callback([=, &action] { action = [=] { return completion(*shell); }; });
}

}  // namespace dingo::tool
