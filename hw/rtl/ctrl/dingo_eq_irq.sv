// SPDX-License-Identifier: BSD-2-Clause

/// MSI-X messages of armed EQs and of the admin queue, which has priority. Admin completions before the message is
/// taken share it; all of them are in host memory.
module dingo_eq_irq (
    input  logic       clk_i,
    input  logic       rst_ni,
    output logic       idle_o,
    input  logic       admin_i,        // pulse: vector 0
    input  logic       valid_i,        // message of an EQ; held until taken_o
    output logic       taken_o,
    input  logic [5:0] vector_i,
    output logic       msix_valid_o,
    input  logic       msix_ready_i,
    output logic [5:0] msix_vector_o
);
  logic admin_q, msix_valid_q, admin_load, irq_load;
  logic [5:0] msix_vector_q;
  assign admin_load = !msix_valid_q && admin_q;
  assign irq_load = !msix_valid_q && !admin_q && valid_i;
  assign taken_o = irq_load;
  assign idle_o = !msix_valid_q && !admin_q;
  assign msix_valid_o = msix_valid_q;
  assign msix_vector_o = msix_vector_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      admin_q <= 1'b0;
      msix_valid_q <= 1'b0;
    end else begin
      if (admin_i) admin_q <= 1'b1;
      else if (admin_load) admin_q <= 1'b0;
      msix_valid_q <= msix_valid_q ? !msix_ready_i : admin_load || irq_load;
    end
    if (admin_load) msix_vector_q <= '0;
    else if (irq_load) msix_vector_q <= vector_i;
  end
endmodule
