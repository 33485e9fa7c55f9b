// SPDX-License-Identifier: BSD-2-Clause
#include "cli/completion.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace cli {
namespace {

/// One command of the program, as the scripts need it.
struct Level {
    std::string path;    ///< "" or "card start"
    std::string words;   ///< subcommands and options
    std::string valued;  ///< options that take a value
};

struct Description {
    std::vector<Level> levels;
    std::vector<Values>
        values;  ///< of options of all commands; `of` has all names of one: "-c --card"
    std::vector<Values> positional;
};

bool hidden(const CLI::Option& option) {
    return option.get_group().empty();
}

std::string names_of(const CLI::Option& option) {
    std::string out;
    for (const std::string& name : option.get_snames())
        out += " -" + name;
    for (const std::string& name : option.get_lnames())
        out += " --" + name;
    return out.empty() ? out : out.substr(1);
}

/// Returns the words that CLI::IsMember put into the type's name: "... {a,b,c}".
std::string members(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    const std::size_t begin = type.rfind('{');
    const std::size_t end = type.rfind('}');
    std::string out;
    if (begin != type.npos && end != type.npos && begin < end)
        out = type.substr(begin + 1, end - begin - 1);
    else if (type.find('|') != type.npos && type.find_first_of(" []") == type.npos)
        out = type;  // "256|512"
    std::replace_if(
        out.begin(), out.end(), [](char c) { return c == ',' || c == '|'; }, ' ');
    return out;
}

void describe(const CLI::App& app, const std::string& path, Description& out) {
    Level level{path, "", ""};
    for (const CLI::App* sub : app.get_subcommands({}))
        level.words += " " + sub->get_name();
    for (const CLI::Option* option : app.get_options()) {
        if (hidden(*option))
            continue;
        const std::string names = names_of(*option);
        if (names.empty()) {
            if (const std::string words = members(*option); !words.empty())
                out.positional.push_back({path, words, ""});
            continue;
        }
        level.words += " " + names;
        if (option->get_items_expected_max() == 0)
            continue;
        level.valued += " " + names;
        const std::string type = option->get_type_name();
        if (const std::string words = members(*option); !words.empty())
            out.values.push_back({names, words, ""});
        else if (type.find("FILE") != type.npos || type.find("DIR") != type.npos)
            out.values.push_back({names, "", "FILES"});
    }
    out.levels.push_back(level);
    for (const CLI::App* sub : app.get_subcommands({}))
        describe(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name(), out);
}

/// Returns a pattern of `case` that matches any of the words.
std::string alternatives(const std::string& words) {
    std::string out = words;
    std::replace(out.begin(), out.end(), ' ', '|');
    return out;
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
    for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size())
        text.replace(at, what.size(), by);
}

std::string function_of(const std::string& program) {
    std::string out = "_" + program;
    std::replace_if(
        out.begin(), out.end(), [](char c) { return c == '-'; }, '_');
    return out;
}

std::string expression(const Values& v) {
    return v.words.empty() ? "$(" + v.prints + " 2>/dev/null)" : v.words;
}

/// Bodies of the `case` statements that bash and zsh share.
struct Cases {
    std::string values, words, paths, valued;
};

Cases cases_of(const Description& d, const std::vector<Values>& given, const std::string& add,
               const std::string& files) {
    Cases out;
    const auto value = [&](const std::string& names, const Values& v) {
        out.values += "        " + alternatives(names) + ") " +
                      (v.prints == "FILES" ? files : add + " \"" + expression(v) + "\"") +
                      "; return ;;\n";
    };
    for (const Values& v : given)
        if (v.of.starts_with('-'))
            value(v.of, v);
    for (const Values& v : d.values)
        value(v.of, v);
    std::string valued;
    for (const Level& level : d.levels) {
        std::string words = level.words;
        for (const auto* list : {&given, &d.positional})
            for (const Values& v : *list)
                if (v.of == level.path)
                    words += " " + expression(v);
        out.words += "        '" + level.path + "') " + add + " \"" + words + "\" ;;\n";
        if (!level.path.empty())
            out.paths += (out.paths.empty() ? "'" : "|'") + level.path + "'";
        valued += level.valued;
    }
    out.valued = valued.empty() ? "''" : alternatives(valued.substr(1));
    if (out.paths.empty())
        out.paths = "''";
    return out;
}

/// The code common to bash and zsh: finds the command being completed (`at`) and adds its words.
constexpr const char* kLook = R"SH(    for ((i = FIRST; i < COUNT; i++)); do
        word=ITEM
        if [ "$word" = -- ]; then
            case $at in COMMANDS) OTHER ;; esac
            return
        fi
        [ -z "$skip" ] || { skip=; continue; }
        case $word in
            VALUED) skip=1 ;;
            -*) ;;
            *) case "${at:+$at }$word" in PATHS) at="${at:+$at }$word" ;; esac ;;
        esac
    done
    case $prev in
VALUES        VALUED) return ;;
    esac
    case $at in
WORDS    esac
)SH";

/// The template of one shell's script.
struct Shell {
    const char* script;  ///< LOOK stands for kLook
    const char *first, *count, *item;
    const char* other;  ///< code that completes the command after "--"
};

constexpr Shell kBash{R"SH(# bash completion of PROGRAM
FUNCTION() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} at= word i skip=
    COMPREPLY=()
LOOK}
FUNCTION_add() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }
complete -o default -F FUNCTION PROGRAM
)SH",
                      "1", "COMP_CWORD", "${COMP_WORDS[i]}",
                      "declare -F _command_offset >/dev/null && _command_offset $((i + 1))"};

constexpr Shell kZsh{R"SH(#compdef PROGRAM
FUNCTION() {
    emulate -L zsh -o sh_word_split
    local prev=$words[CURRENT-1] at= word i skip=
LOOK}
FUNCTION_add() { local list=($=1); compadd -- $list; }
compdef FUNCTION PROGRAM
)SH",
                     "2", "CURRENT", "$words[i]", "shift $i words; (( CURRENT -= i )); _normal"};

std::string for_shell(const Shell& shell, const CLI::App& app, const Description& d,
                      const std::vector<Values>& values, const std::vector<std::string>& commands,
                      const std::string& files) {
    const Cases cases = cases_of(d, values, function_of(app.get_name()) + "_add", files);
    std::string behind;
    for (const std::string& command : commands)
        behind += (behind.empty() ? "'" : "|'") + command + "'";
    std::string out = shell.script;
    replace_all(out, "LOOK", kLook);
    replace_all(out, "FIRST", shell.first);
    replace_all(out, "COUNT", shell.count);
    replace_all(out, "ITEM", shell.item);
    replace_all(out, "OTHER", shell.other);
    replace_all(out, "COMMANDS", behind.empty() ? "'-'" : behind);
    replace_all(out, "VALUES", cases.values);
    replace_all(out, "VALUED", cases.valued);
    replace_all(out, "PATHS", cases.paths);
    replace_all(out, "WORDS    esac", cases.words + "    esac");
    replace_all(out, "FUNCTION", function_of(app.get_name()));
    replace_all(out, "PROGRAM", app.get_name());
    return out;
}

std::string for_fish(const CLI::App& app, const Description& d, const std::vector<Values>& given,
                     const std::vector<std::string>& commands) {
    const std::string& program = app.get_name();
    const std::string function = "_" + function_of(program) + "_at";
    // Matches if the commands so far are exactly these words.
    std::string out =
        "# fish completion of " + program + "\nfunction " + function +
        "\n    set -l words (commandline -opc)[2..]\n    contains -- -- $words; and return 1\n"
        "    set -l seen\n    for w in $words\n        string match -q -- '-*' $w; or set -a seen "
        "$w\n"
        "    end\n    set -l n (count $argv)\n    test $n -eq 0; and test (count $seen) -gt 0; and "
        "return 1\n"
        "    for i in (seq $n)\n        test \"$seen[$i]\" = $argv[$i]; or return 1\n    "
        "end\nend\n";
    const auto line = [&](const std::string& path, const std::string& rest) {
        out += "complete -c " + program + " -n '" + function + (path.empty() ? "" : " " + path) +
               "' " + rest + "\n";
    };
    const auto values_of = [&](const std::string& option) -> const Values* {
        for (const auto* list : {&given, &d.values})
            for (const Values& v : *list)
                if ((" " + v.of + " ").find(" " + option + " ") != std::string::npos)
                    return &v;
        return nullptr;
    };
    for (const Level& level : d.levels) {
        std::string plain;
        for (std::size_t at = 0; at < level.words.size();) {
            const std::size_t end = std::min(level.words.find(' ', at + 1), level.words.size());
            const std::string word = level.words.substr(at + 1, end - at - 1);
            at = end;
            if (!word.starts_with('-')) {
                plain += " " + word;
                continue;
            }
            const bool value = (level.valued + " ").find(" " + word + " ") != std::string::npos;
            const Values* const known = value ? values_of(word) : nullptr;
            line(level.path,
                 (word.starts_with("--") ? "-l " + word.substr(2) : "-s " + word.substr(1)) +
                     (!value             ? ""
                      : known == nullptr ? " -r"
                      : known->prints == "FILES"
                          ? " -r -F"
                          : " -x -a '" +
                                (known->words.empty() ? "(" + known->prints + " 2>/dev/null)"
                                                      : known->words) +
                                "'"));
        }
        for (const auto* list : {&given, &d.positional})
            for (const Values& v : *list)
                if (v.of == level.path)
                    plain += " " + (v.words.empty() ? "(" + v.prints + " 2>/dev/null)" : v.words);
        if (!plain.empty())
            line(level.path, "-f -a '" + plain.substr(1) + "'");
    }
    for (const std::string& command : commands)
        out += "complete -c " + program + " -n '__fish_seen_subcommand_from " + command +
               "; and contains -- -- (commandline -opc)' -a '(__fish_complete_subcommand)'\n";
    return out;
}

}  // namespace

void add_shell(CLI::App& command, std::string& shell) {
    command.add_option("SHELL", shell, "bash, zsh or fish")
        ->required()
        ->check(CLI::IsMember(std::vector<std::string>(std::begin(kShells), std::end(kShells))));
}

std::string completion(const CLI::App& app, std::string_view shell,
                       const std::vector<Values>& values,
                       const std::vector<std::string>& commands) {
    Description d;
    describe(app, "", d);
    if (shell == "bash")
        return for_shell(kBash, app, d, values, commands, ":");
    if (shell == "zsh")
        return for_shell(kZsh, app, d, values, commands, "_files");
    if (shell == "fish")
        return for_fish(app, d, values, commands);
    throw std::invalid_argument("no completion for the shell " + std::string(shell));
}

}  // namespace cli
