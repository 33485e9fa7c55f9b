// SPDX-License-Identifier: BSD-2-Clause

/// Receive WQEs, kept by receive queue and free-running index in groups of four lines of the ring (256 bytes: 8
/// entries of 32 bytes, 4 of 64). One read brings all posted entries of a group. A lookup is answered from here, in 3
/// cycles, or from host memory; while it waits, and while there is no lookup, the next entries of QPs whose receive
/// queue moved are prefetched. A group's tag has the entries that were asked for and the number of the read that
/// brings them: reads are answered in order, so the number tells whether they have come. Looks (for dingo_rsp_ahead)
/// use the ports of both memories in cycles in which neither lookups nor prefetches do.
module dingo_rq_cache #(
    parameter int unsigned LogGroups = 9
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    output logic               idle_o,
    input  logic               flush_i,        // drop all entries; reads on their way are of other QPs
    input  logic               xl_flush_i,
    // ring of `qp_i`, stable during a lookup and at a prefetch pulse
    input  rtl_pkg::rqi_t      qp_i,
    input  rtl_pkg::xmem_t     mem_i,
    input  logic [3:0]         log_rq_i,
    input  logic [3:0]         log_stride_i,   // 5..8
    input  logic [31:0]        end_i,          // index behind the last posted entry
    input  logic               req_valid_i,    // held until rsp_valid_o
    input  logic [31:0]        req_index_i,
    input  logic [1:0]         req_part_i,     // which line of the entry
    output logic               rsp_valid_o,    // one cycle
    output logic               rsp_err_o,
    output logic [511:0]       rsp_data_o,     // stays until the next lookup
    input  logic               pf_valid_i,     // pulse: prefetch entries from pf_index_i to end_i
    input  logic [31:0]        pf_index_i,
    // look: one cycle later look_here_o and look_coming_o (there, on its way), another cycle later look_err_o and the
    // first 32 bytes
    input  logic               look_valid_i,   // not while a lookup's line is read
    output logic               look_ready_o,
    input  rsp_pkg::look_t     look_i,
    output logic               look_here_o,
    output logic               look_coming_o,
    output logic               look_err_o,
    output logic [255:0]       look_data_o,
    output logic               line_valid_o,   // entries
    input  logic               line_ready_i,
    output rtl_pkg::rdl_req_t  line_o,
    input  logic               line_rsp_valid_i,
    output logic               xl_line_valid_o, // page lists
    input  logic               xl_line_ready_i,
    output rtl_pkg::rdl_req_t  xl_line_o,
    input  logic               xl_line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t  rsp_i           // of both
);
  localparam logic [31:0] AHEAD = 32'd8;       // entries that are prefetched behind the group of the next one
  localparam logic [31:0] AHEAD_ALONE = 32'd40;  // for one QP that moves twice in turn: a PCIe round trip
  localparam int unsigned LogReads = 5;
  // So many that a stale number rarely looks like a read on its way: such a group is not fetched, and its lookup waits.
  localparam int unsigned NumberW = 11;
  localparam int unsigned EpochW = 6;
  typedef struct packed {
    rtl_pkg::rqi_t  qp;
    rtl_pkg::xmem_t mem;
    logic [3:0]     log_rq;
    logic [3:0]     log_stride;
    logic [31:0]    index;
    logic [31:0]    upto;                      // behind the last posted entry
  } job_t;
  localparam int unsigned JobW = rtl_pkg::RQ_LOG + 103 + 8 + 64;
  typedef struct packed {
    logic                  valid;
    logic [EpochW-1:0]     epoch;
    rtl_pkg::rqi_t         qp;
    logic [31:0]           group;              // free running
    logic [2:0]            first;              // entries [first, upto) were asked for
    logic [3:0]            there;              // entries before it came with earlier reads
    logic [3:0]            upto;
    logic [NumberW-1:0]    read;               // number of the read that brings the others
  } tag_t;
  localparam int unsigned TagW = 1 + EpochW + rtl_pkg::RQ_LOG + 32 + 11 + NumberW;

  typedef enum logic [2:0] {
    IDLE = 3'd0,
    TAG = 3'd1,          // the tag is there
    FETCH = 3'd2,        // entries are asked for
    READ = 3'd3,         // the lookup's line is read
    GIVE = 3'd4,         // the line is there
    NEXT = 3'd5          // behind FETCH: the tag of the next group is read
  } state_t;
  state_t state_q;
  // ---------------------------------------------------------------- reads on their way
  logic [NumberW-1:0] issued, came;            // numbers of the next read to be sent, to be answered
  function automatic logic on_its_way(input logic [NumberW-1:0] read, input logic [NumberW-1:0] next, input logic [NumberW-1:0] behind);
    on_its_way = read - next < behind - next;
  endfunction

  // ---------------------------------------------------------------- prefetches that wait
  logic pf_room, pf_valid, pf_take;
  logic [5:0] pf_count;
  job_t ask, pf_in, pf_job;
  logic [JobW-1:0] pf_bits;
  always_comb begin
    ask.qp = qp_i;
    ask.mem = mem_i;
    ask.log_rq = log_rq_i;
    ask.log_stride = log_stride_i;
    ask.index = req_index_i;
    ask.upto = end_i;
    pf_in = ask;
    pf_in.index = pf_index_i;
  end
  dingo_fifo #(
      .Width(JobW),
      .LogDepth(5)
  ) u_soon (
      .clk_i, .rst_ni,
      .valid_i(pf_valid_i && pf_index_i != end_i), .ready_o(pf_room), .data_i(pf_in),  // dropped without room
      .valid_o(pf_valid), .ready_i(pf_take), .data_o(pf_bits), .count_o(pf_count)
  );
  assign pf_job = job_t'(pf_bits);

  // ---------------------------------------------------------------- the job in work
  job_t job_q;
  logic demand_q;                              // it is a lookup
  logic [31:0] until_q;                        // prefetch: entries up to here are wanted
  logic fetched_q;                             // the lookup has sent a read of its own
  logic waits_q, retry_q;                      // a lookup waits for wait_read_q; then it reads the tag again
  logic [NumberW-1:0] wait_read_q;
  logic [LogGroups-1:0] wait_slot_q;
  assign landed = !on_its_way(wait_read_q, came, issued);

  function automatic logic [31:0] group_of(input logic [31:0] index, input logic [3:0] log_stride);
    group_of = index >> (4'd8 - log_stride);
  endfunction
  function automatic logic [LogGroups-1:0] slot_of(input logic [rtl_pkg::RQ_LOG-1:0] qp, input logic [LogGroups-1:0] group);
    slot_of = group;
    for (int unsigned i = 0; i < rtl_pkg::RQ_LOG; i++)
      slot_of[LogGroups-1-i%LogGroups] = slot_of[LogGroups-1-i%LogGroups] ^ qp[i];
  endfunction

  logic landed;
  logic [31:0] group, next_index, next_group;
  logic [3:0] size;                            // entries of a group
  logic [2:0] entry;
  logic [LogGroups-1:0] slot, first_slot;
  logic take_demand, take_again, tag_re;
  assign group = group_of(job_q.index, job_q.log_stride);
  assign size = 4'd8 >> (job_q.log_stride - 4'd5);
  assign entry = job_q.index[2:0] & 3'(size - 4'd1);
  assign next_index = job_q.index + 32'(size) - 32'(entry);
  assign next_group = group + 32'd1;
  assign slot = slot_of(job_q.qp, group[LogGroups-1:0]);

  logic take_read;             // lookups go first; prefetches go on while a lookup waits for its read
  assign take_read = state_q == IDLE && waits_q && landed && !retry_q;
  assign take_again = state_q == IDLE && waits_q && landed && retry_q;
  assign take_demand = state_q == IDLE && !clearing && !waits_q && req_valid_i && !rsp_valid_o;
  assign pf_take = state_q == IDLE && !clearing && !take_read && !take_again && !take_demand && pf_valid && !look_valid_i;
  // A look reads its tag now, its line in the next cycle.
  assign look_ready_o = !clearing && !take_read && !take_again && !take_demand && state_q != TAG && state_q != NEXT;
  logic look, look_q;
  rsp_pkg::look_t looked_q;
  assign look = look_valid_i && look_ready_o;
  logic [31:0] pf_next, pf_until;              // of the prefetch that comes next
  logic [3:0] pf_most;
  rtl_pkg::rqi_t pf_last_qp_q;
  assign pf_most = (4'd8 >> (pf_job.log_stride - 4'd5)) - 4'd1;
  assign pf_next = (pf_job.index | 32'(pf_most)) + 32'd1;
  assign pf_until = pf_next + (pf_job.qp == pf_last_qp_q ? AHEAD_ALONE : AHEAD);
  logic more;                  // the prefetch goes on with the next group
  assign more = !demand_q && rtl_pkg::idx_before(next_index, until_q);
  logic [31:0] first_group;
  rtl_pkg::rqi_t first_qp;
  always_comb begin
    first_qp = look ? look_i.qp[rtl_pkg::RQ_LOG-1:0] : pf_take ? pf_job.qp : state_q == IDLE ? qp_i : job_q.qp;
    first_group = look ? group_of(look_i.index, look_i.log_stride) : pf_take ? group_of(pf_job.index, pf_job.log_stride)
                  : state_q == IDLE ? group_of(req_index_i, log_stride_i) : next_group;
  end
  assign first_slot = slot_of(first_qp, first_group[LogGroups-1:0]);
  assign tag_re = look || state_q == IDLE || state_q == TAG || state_q == NEXT;

  // ---------------------------------------------------------------- tags
  logic clearing, tags_ready, tag_written, tag_we, match, covered, way, here, bad;
  logic [EpochW-1:0] epoch_q;
  logic [TagW-1:0] tag_bits;
  tag_t tag_ram, tag, tag_q, tag_d;
  logic [3:0] wanted;                          // behind the last entry of this group that is wanted
  assign clearing = !tags_ready;
  assign tag_ram = tag_t'(tag_bits);
  always_comb begin
    tag = tag_ram;
    tag.valid = tag_ram.valid && tag_written;
  end
  logic epochs_end;                            // epoch numbers start again: all tags are cleared
  assign epochs_end = flush_i && epoch_q == '1;
  dingo_marked_ram #(
      .Width(TagW),
      .LogDepth(LogGroups)
  ) u_tags (
      .clk_i, .rst_ni(rst_ni && !epochs_end), .ready_o(tags_ready),
      .we_i(tag_we && !clearing), .waddr_i(bad ? wait_slot_q : slot),
      .wdata_i(bad || fetch_err ? '0 : tag_d), .re_i(tag_re), .raddr_i(first_slot), .rdata_o(tag_bits), .written_o(tag_written)
  );
  assign match = tag.valid && tag.epoch == epoch_q && tag.qp == job_q.qp && tag.group == group && {1'b0, entry} <= tag.upto
                 && entry >= tag.first;
  assign wanted = until_q - job_q.index < 32'(size) - 32'(entry) ? 4'(entry) + 4'(until_q - job_q.index) : size;
  assign covered = match && (demand_q ? {1'b0, entry} < tag.upto : wanted <= tag.upto);
  assign way = on_its_way(tag.read, came, issued);
  assign here = covered && ({1'b0, entry} < tag.there || !way);

  logic look_match, look_way, look_unsure, wrote_q;
  logic [LogGroups-1:0] look_slot;
  logic [2:0] look_entry;
  rtl_pkg::rqi_t look_qp;
  assign look_qp = looked_q.qp[rtl_pkg::RQ_LOG-1:0];
  logic [31:0] look_byte, look_group;
  assign look_group = group_of(looked_q.index, looked_q.log_stride);
  assign look_entry = looked_q.index[2:0] & 3'((4'd8 >> (looked_q.log_stride - 4'd5)) - 4'd1);
  assign look_match = tag.valid && tag.epoch == epoch_q && tag.qp == look_qp && tag.group == look_group
                      && {1'b0, look_entry} < tag.upto && look_entry >= tag.first;
  assign look_way = way && {1'b0, look_entry} >= tag.there;
  // A group that a fetch is changing counts as coming: some of its lines may have come before its tag.
  assign look_slot = slot_of(look_qp, look_group[LogGroups-1:0]);
  assign look_unsure = wrote_q || (state_q == FETCH && look_slot == slot);
  assign look_here_o = look_match && !look_way && !look_unsure;
  assign look_coming_o = (look_match && look_way) || look_unsure;
  assign look_byte = looked_q.index << looked_q.log_stride;
  always_ff @(posedge clk_i) begin
    look_q <= look;
    wrote_q <= tag_we;
    if (look) looked_q <= look_i;
    if (look_q) look_half_q <= looked_q.pairs && looked_q.index[0];
    if (!rst_ni) look_q <= 1'b0;
    else a_look: assert (!look_q || !(state_q == READ || (state_q == TAG && demand_q)));
  end
  logic look_half_q;

  // ---------------------------------------------------------------- entries are asked for
  logic [2:0] from_q;                          // first entry of the group to be asked for
  logic extend_q;                              // the entries that the tag has stay
  logic fetch, fetch_done, fetch_err, fetch_idle, line_we;
  logic [3:0] fetch_to;
  logic [LogGroups+1:0] line_waddr;
  assign fetch = state_q == TAG && !covered && !(match && way) && (demand_q || !(waits_q && wait_slot_q == slot));
  dingo_rq_fetch #(
      .LogGroups(LogGroups),
      .LogReads(LogReads),
      .NumberW(NumberW)
  ) u_fetch (
      .clk_i, .rst_ni, .idle_o(fetch_idle), .xl_flush_i, .start_i(fetch), .mem_i(job_q.mem), .log_rq_i(job_q.log_rq),
      .log_stride_i(job_q.log_stride), .index_i(job_q.index - 32'(entry)), .upto_i(job_q.upto), .from_i(from_q), .slot_i(slot),
      .done_o(fetch_done), .err_o(fetch_err), .to_o(fetch_to), .read_o(issued), .came_o(came), .we_o(line_we),
      .waddr_o(line_waddr), .line_valid_o, .line_ready_i, .line_o, .line_rsp_valid_i, .xl_line_valid_o, .xl_line_ready_i,
      .xl_line_o, .xl_line_rsp_valid_i, .rsp_i
  );
  assign tag_we = fetch_done || fetch_err || bad;   // fetch_err: some lines of the group may have been overwritten
  always_comb begin
    tag_d.valid = 1'b1;
    tag_d.epoch = epoch_q;
    tag_d.qp = job_q.qp;
    tag_d.group = group;
    tag_d.first = extend_q ? tag_q.first : from_q;
    tag_d.there = extend_q ? tag_q.upto : {1'b0, from_q};
    tag_d.upto = fetch_to;
    tag_d.read = issued;
  end

  // ---------------------------------------------------------------- lines
  logic [512:0] line;
  logic [1:0] line_of_entry;
  logic half_q;
  logic [31:0] req_byte;
  assign req_byte = req_index_i << log_stride_i;
  assign line_of_entry = req_byte[7:6] | req_part_i;
  dingo_ram #(
      .Width(513),
      .LogDepth(LogGroups + 2)
  ) u_lines (
      .clk_i,
      .we_i(line_we), .waddr_i(line_waddr), .wdata_i({rsp_i.err, rsp_i.data}),
      .re_i(look_q || state_q == READ || (state_q == TAG && demand_q)),
      .raddr_i(look_q ? {look_slot, look_byte[7:6]}
               : {state_q == TAG ? slot : wait_slot_q, line_of_entry}), .rdata_o(line)
  );
  // The upper half of a line holds every second entry of 32 bytes.
  assign rsp_data_o = half_q ? {256'd0, line[511:256]} : line[511:0];
  assign look_err_o = line[512];
  assign look_data_o = look_half_q ? line[511:256] : line[255:0];
  // The failed read may have been a prefetch: the tag is cleared, and the lookup sends a read of its own (fetched_q).
  assign bad = state_q == GIVE && line[512];

  assign idle_o = state_q == IDLE && !req_valid_i && !waits_q && pf_count == '0 && fetch_idle;

  always_ff @(posedge clk_i) begin
    rsp_valid_o <= 1'b0;
    case (state_q)
      IDLE: begin
        if (take_read) state_q <= READ;
        else if (take_demand || take_again || pf_take) state_q <= TAG;
        if (take_demand || take_again || pf_take) begin
          job_q <= pf_take ? pf_job : ask;
          demand_q <= !pf_take;
          until_q <= pf_job.upto - pf_job.index < pf_until - pf_job.index ? pf_job.upto : pf_until;
        end
        if (pf_take) pf_last_qp_q <= pf_job.qp;
        if (take_demand) fetched_q <= 1'b0;
        if (take_again) waits_q <= 1'b0;
      end
      TAG: begin
        tag_q <= tag;
        if (demand_q) half_q <= log_stride_i == 4'd5 && log_rq_i != '0 && req_index_i[0];
        extend_q <= match;
        from_q <= match ? tag.upto[2:0] : entry;
        if (demand_q && (covered || (match && way))) begin
          waits_q <= !here;
          retry_q <= !covered;
          wait_slot_q <= slot;
          wait_read_q <= tag.read;
          state_q <= here ? GIVE : IDLE;
        end else if (covered) begin
          job_q.index <= next_index;
          state_q <= more ? TAG : IDLE;
        end else state_q <= fetch ? FETCH : IDLE;
      end
      FETCH:
      if (fetch_err) begin
        rsp_err_o <= 1'b1;
        rsp_valid_o <= demand_q;
        state_q <= IDLE;
      end else if (fetch_done) begin
        job_q.index <= next_index;
        state_q <= more ? NEXT : IDLE;
        if (demand_q) begin
          waits_q <= 1'b1;
          retry_q <= 1'b0;
          fetched_q <= 1'b1;
          wait_slot_q <= slot;
          wait_read_q <= issued;
        end
      end
      NEXT: state_q <= TAG;
      READ: begin
        waits_q <= 1'b0;
        state_q <= GIVE;
      end
      default: begin                           // GIVE
        rsp_err_o <= line[512];
        rsp_valid_o <= !line[512] || fetched_q;
        state_q <= IDLE;
      end
    endcase

    if (flush_i) epoch_q <= epoch_q + 1'b1;
    if (!rst_ni) begin
      state_q <= IDLE;
      waits_q <= 1'b0;
      epoch_q <= '0;
      rsp_valid_o <= 1'b0;
    end
  end

  wire unused_ok = &{1'b0, pf_room, tag_q, req_byte, first_group, look_byte, looked_q};
endmodule
