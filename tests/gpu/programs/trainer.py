#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Trains a randomly initialised language model on random text with Hugging Face's Trainer: the loss
must fall, and both ranks must agree.

usage: torchrun --nproc-per-node N tests/gpu/programs/trainer.py FOLDER
"""
import os
import sys

import torch
import torch.distributed as dist
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

torch.manual_seed(3)
text = torch.randint(0, 512, (64, 1)).repeat(1, 64) + torch.arange(64) % 7
config = GPT2Config(vocab_size=640, n_positions=64, n_embd=256, n_layer=4, n_head=4)
arguments = TrainingArguments(sys.argv[1], max_steps=30, per_device_train_batch_size=8, learning_rate=1e-3, logging_steps=10, save_strategy="no", report_to=[])
trainer = Trainer(GPT2LMHeadModel(config), arguments, train_dataset=[{"input_ids": row, "labels": row} for row in text])
trainer.train()
losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
digest = sum(p.detach().double().sum() for p in trainer.model.parameters())
both = [torch.empty_like(digest) for _ in range(dist.get_world_size())]
dist.all_gather(both, digest)
if not float(losses[-1]) < float(losses[0]) or any(not torch.equal(both[0], other) for other in both):
    sys.exit(f"losses {losses}, sums of parameters {both}")
print(f"rank {os.environ['RANK']}: losses {losses}", flush=True)
dist.destroy_process_group()
