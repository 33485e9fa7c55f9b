// SPDX-License-Identifier: BSD-2-Clause
//
// Records all frames of a wire, both directions, in a pcap file with nanosecond timestamps.
// Complete records are passed to the kernel at least every kFlushEvery, so that the file of a
// killed process is readable and nearly complete.
#include <fmt/format.h>
#include <pcap/pcap.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>
#include <vector>

#include "wire/factory.h"
#include "wire/layer.h"
#include "wire/wire_system_error.h"

namespace dingo {
namespace {

constexpr std::size_t kBufferBytes = 1024 * 1024;
constexpr std::size_t kRecordHeader = 16;
constexpr int kSnapLength = 65'535;
constexpr Nanoseconds kFlushEvery = 20'000'000;

/// A pcap savefile.
class Capture {
  public:
    explicit Capture(const std::string& path) : buffer_(kBufferBytes) {
        pcap_ = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, kSnapLength,
                                                     PCAP_TSTAMP_PRECISION_NANO);
        if (pcap_ == nullptr)
            throw WireError("pcap: out of memory");
        std::FILE* file = std::fopen(path.c_str(), "wbe");
        if (file == nullptr) {
            const int error = errno;
            pcap_close(pcap_);
            throw WireSystemError(
                fmt::format("pcap: cannot write '{}': {}", path, std::strerror(error)));
        }
        // The buffer is flushed before it can overflow, so only complete records reach the file.
        std::setvbuf(file, buffer_.data(), _IOFBF, buffer_.size());
        dumper_ = pcap_dump_fopen(pcap_, file);
        if (dumper_ == nullptr) {
            const std::string reason = pcap_geterr(pcap_);  // libpcap has closed the file
            pcap_close(pcap_);
            throw WireSystemError(fmt::format("pcap: cannot write '{}': {}", path, reason));
        }
        flush();
    }
    ~Capture() {
        pcap_dump_close(dumper_);
        pcap_close(pcap_);
    }
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    void record(std::span<const std::byte> frame) {
        const std::size_t bytes = kRecordHeader + frame.size();
        if (pending_ + bytes > kBufferBytes)
            flush();
        timespec now{};
        ::clock_gettime(CLOCK_REALTIME, &now);
        pcap_pkthdr header{};
        header.ts.tv_sec = now.tv_sec;
        header.ts.tv_usec = now.tv_nsec;  // nanoseconds, as set for the file
        header.caplen = header.len = static_cast<bpf_u_int32>(frame.size());
        pcap_dump(reinterpret_cast<u_char*>(dumper_), &header,
                  reinterpret_cast<const u_char*>(frame.data()));
        pending_ += bytes;
        frames_++;
    }

    void flush() {
        if (pcap_dump_flush(dumper_) != 0)
            errors_ += frames_;
        pending_ = 0;
        frames_ = 0;
    }

    [[nodiscard]] std::uint64_t errors() const { return errors_; }

  private:
    std::vector<char> buffer_;
    pcap_t* pcap_ = nullptr;
    pcap_dumper_t* dumper_ = nullptr;
    std::size_t pending_ = 0;
    std::uint64_t frames_ = 0;
    std::uint64_t errors_ = 0;
};

class PcapTee final : public WireLayer {
  public:
    PcapTee(std::unique_ptr<Wire> inner, const std::string& path)
        : WireLayer(std::move(inner)), path_(path), capture_(path) {}

    std::span<std::byte> begin_frame(std::size_t max_len) override {
        return room_ = inner().begin_frame(max_len);
    }
    std::span<std::byte> begin_frame_to(std::size_t max_len, std::uint64_t to) override {
        return room_ = inner().begin_frame_to(max_len, to);
    }
    // so that the capture looks as on any other wire
    bool needs_icrc() const override { return true; }
    void end_frame(std::size_t len) override {
        if (len != 0)
            record(room_.first(len));  // before its room is passed on
        inner().end_frame(len);
    }

    unsigned receive(FrameSink& sink, unsigned budget) override {
        Recorder recorder(*this, sink);
        return inner().receive(recorder, budget);
    }

    Nanoseconds next_deadline() const override {
        return std::min(flush_at_.value_or(kNever), inner().next_deadline());
    }

    void advance(Nanoseconds now) override {
        now_ = now;
        if (flush_at_ && now >= *flush_at_) {
            capture_.flush();
            flush_at_.reset();
        }
        inner().advance(now);
    }

    std::string describe() const override {
        return fmt::format("{}, recorded in {}", inner().describe(), path_);
    }
    WireStats stats() const override {
        WireStats out = inner().stats();
        out.pcap_errors += capture_.errors();
        return out;
    }

  private:
    class Recorder final : public FrameSink {
      public:
        Recorder(PcapTee& tee, FrameSink& next) : tee_(tee), next_(next) {}
        void on_frame(std::span<const std::byte> frame) override {
            tee_.record(frame);
            next_.on_frame(frame);
        }

      private:
        PcapTee& tee_;
        FrameSink& next_;
    };

    void record(std::span<const std::byte> frame) {
        capture_.record(frame);
        if (!flush_at_)
            flush_at_ = now_ + kFlushEvery;
    }

    const std::string path_;
    Capture capture_;
    std::span<std::byte> room_;
    Nanoseconds now_ = 0;
    std::optional<Nanoseconds> flush_at_;
};

}  // namespace

std::unique_ptr<Wire> make_pcap_tee(std::unique_ptr<Wire> inner, const std::string& path) {
    return std::make_unique<PcapTee>(std::move(inner), path);
}

}  // namespace dingo
