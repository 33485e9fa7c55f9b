// SPDX-License-Identifier: BSD-2-Clause

/// Buffer of a transceiver's reference clock (UltraScale+ primitive), for lint only.
module IBUFDS_GTE4 #(
    parameter logic [1:0] REFCLK_HROW_CK_SEL = 2'b00
) (
    input  logic I, IB, CEB,
    output logic O, ODIV2
);
endmodule
