// SPDX-License-Identifier: BSD-2-Clause
// A PMIx server that starts a given number of processes on this host and tells the others when one
// of them fails, which mpirun 4.1 and Slurm 22.05 do not do reliably.
#include <pmix.h>
#include <pmix_server.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr const char* job_name = "qpx.launcher";

#define NEED(call)                                                            \
    do {                                                                      \
        if (const pmix_status_t status_ = (call);                             \
            status_ != PMIX_SUCCESS && status_ != PMIX_OPERATION_SUCCEEDED) { \
            std::fprintf(stderr, "qpx_pmix_launcher: %s: %s\n", #call,        \
                         PMIx_Error_string(status_));                         \
            std::exit(2);                                                     \
        }                                                                     \
    } while (false)

// Waits until the library reports that a request is done.
class Request {
  public:
    static void done(pmix_status_t status, void* data) {
        auto* self = static_cast<Request*>(data);
        const std::lock_guard lock(self->mutex_);
        self->status_ = status;
        self->done_ = true;
        self->changed_.notify_all();
    }
    pmix_status_t wait(pmix_status_t started) {
        if (started != PMIX_SUCCESS) {
            return started;
        }
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return done_; });
        return status_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool done_ = false;
    pmix_status_t status_ = PMIX_SUCCESS;
};

class Info {
  public:
    template <typename T>
    void add(const char* key, const T* value, pmix_data_type_t type) {
        pmix_info_t info;
        PMIX_INFO_CONSTRUCT(&info);
        PMIX_INFO_LOAD(&info, key, value, type);
        all_.push_back(info);
    }
    void text(const char* key, const std::string& value) { add(key, value.c_str(), PMIX_STRING); }
    void number(const char* key, uint32_t value) { add(key, &value, PMIX_UINT32); }
    ~Info() {
        for (auto& info : all_) {
            PMIX_INFO_DESTRUCT(&info);
        }
    }
    Info() = default;
    Info(const Info&) = delete;
    pmix_info_t* data() { return all_.data(); }
    size_t size() const { return all_.size(); }

  private:
    std::vector<pmix_info_t> all_;
};

pmix_status_t on_client(const pmix_proc_t*, void*, pmix_op_cbfunc_t, void*) {
    return PMIX_OPERATION_SUCCEEDED;
}
pmix_status_t on_abort(const pmix_proc_t*, void*, int, const char*, pmix_proc_t[], size_t,
                       pmix_op_cbfunc_t, void*) {
    return PMIX_OPERATION_SUCCEEDED;
}
// All processes run on this host, so the data is complete as it is.
pmix_status_t on_fence(const pmix_proc_t[], size_t, const pmix_info_t[], size_t, char* data,
                       size_t size, pmix_modex_cbfunc_t done, void* request) {
    done(PMIX_SUCCESS, data, size, request, nullptr, nullptr);
    return PMIX_SUCCESS;
}

pmix_proc_t process(uint32_t rank) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, job_name, rank);
    return proc;
}

void register_job(uint32_t count) {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    char *nodes = nullptr, *ranks = nullptr;
    std::string list;
    for (uint32_t rank = 0; rank < count; ++rank) {
        list += (rank ? "," : "") + std::to_string(rank);
    }
    NEED(PMIx_generate_regex(host, &nodes));
    NEED(PMIx_generate_ppn(list.c_str(), &ranks));
    Info job;
    job.add(PMIX_NODE_MAP, nodes, PMIX_REGEX);
    job.add(PMIX_PROC_MAP, ranks, PMIX_REGEX);
    for (const char* key : {PMIX_UNIV_SIZE, PMIX_JOB_SIZE, PMIX_LOCAL_SIZE, PMIX_NODE_SIZE}) {
        job.number(key, count);
    }
    job.text(PMIX_LOCAL_PEERS, list);
    Request request;
    NEED(request.wait(PMIx_server_register_nspace(job_name, static_cast<int>(count), job.data(),
                                                  job.size(), Request::done, &request)));
    std::free(nodes);
    std::free(ranks);
}

pid_t start(uint32_t rank, char** command) {
    const pmix_proc_t proc = process(rank);
    Request request;
    NEED(request.wait(
        PMIx_server_register_client(&proc, getuid(), getgid(), nullptr, Request::done, &request)));
    char** environment = nullptr;
    NEED(PMIx_server_setup_fork(&proc, &environment));
    const pid_t pid = fork();
    if (pid == 0) {
        for (char** variable = environment; *variable; ++variable) {
            putenv(*variable);
        }
        execvp(command[0], command);
        std::perror(command[0]);
        _exit(127);
    }
    return pid;
}

void tell_of(uint32_t rank, pmix_status_t status) {
    const pmix_proc_t affected = process(rank);
    pmix_proc_t self;
    PMIX_LOAD_PROCID(&self, "qpx.server", 0);
    Info info;
    info.add(PMIX_EVENT_AFFECTED_PROC, &affected, PMIX_PROC);
    Request request;
    NEED(request.wait(PMIx_Notify_event(status, &self, PMIX_RANGE_SESSION, info.data(), info.size(),
                                        Request::done, &request)));
}

}  // namespace

int main(int argc, char** argv) {
    int64_t accused = -1;
    if (argc > 3 && std::strcmp(argv[1], "--accuse") == 0) {
        accused = std::atol(argv[2]);
        argv += 2;
        argc -= 2;
    }
    const uint32_t count = argc > 2 ? static_cast<uint32_t>(std::atol(argv[1])) : 0;
    if (count == 0) {
        std::fprintf(stderr,
                     "usage: qpx_pmix_launcher [--accuse RANK] COUNT COMMAND...\n"
                     "--accuse: says after a second that this rank has failed, whatever it does\n");
        return 2;
    }
    std::string directory = std::filesystem::temp_directory_path() / "qpx-pmix-XXXXXX";
    if (!mkdtemp(directory.data())) {
        std::perror(directory.c_str());
        return 2;
    }
    Info server;
    server.text(PMIX_SERVER_TMPDIR, directory);
    server.text(PMIX_SERVER_NSPACE, "qpx.server");
    pmix_server_module_t module{};
    module.client_connected = on_client;
    module.client_finalized = on_client;
    module.abort = on_abort;
    module.fence_nb = on_fence;
    NEED(PMIx_server_init(&module, server.data(), server.size()));
    register_job(count);

    std::map<pid_t, uint32_t> running;
    for (uint32_t rank = 0; rank < count; ++rank) {
        running[start(rank, argv + 2)] = rank;
    }
    std::thread accuser([&] {
        if (accused >= 0) {
            std::this_thread::sleep_for(std::chrono::seconds(1));
            tell_of(static_cast<uint32_t>(accused), PMIX_ERR_PROC_ABORTED_BY_SIG);
        }
    });
    int worst = 0;
    while (!running.empty()) {
        int status = 0;
        const auto ended = running.find(wait(&status));
        if (ended == running.end()) {
            continue;
        }
        if (status != 0) {
            tell_of(ended->second, WIFSIGNALED(status) ? PMIX_ERR_PROC_ABORTED_BY_SIG
                                                       : PMIX_ERR_EXIT_NONZERO_TERM);
            worst =
                std::max(worst, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
        }
        running.erase(ended);
    }
    accuser.join();
    PMIx_server_finalize();
    std::filesystem::remove_all(directory);
    return worst;
}
