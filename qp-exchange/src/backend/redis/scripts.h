// SPDX-License-Identifier: BSD-2-Clause
// What must happen at once in the Redis server: members come and go, gatherings complete. Lua, run
// by EVAL with the hashes `members` and `conf` as keys and the job's prefix as first argument.
#pragma once
#include <string>

namespace qpx::backend::scripts {

/// A member: state (Here, Left, Failed), incarnation, token of its connection, name.
inline const std::string common = R"lua(
local m, c = KEYS[1], KEYS[2]
local p = ARGV[1] .. (redis.call('HGET', c, 'run') or '') .. ':'
local keep = 604800
local function number(field) return tonumber(redis.call('HGET', c, field) or '0') end
local function gathering() return p .. 'g:' .. number('seq') end
local function complete()
  local here, size = number('here'), number('size')
  local g = gathering()
  if here == 0 or redis.call('HLEN', g) ~= here or (size ~= 0 and number('ever') ~= size) then return end
  local seq = number('seq')
  redis.call('HINCRBY', c, 'seq', 1)
  redis.call('EXPIRE', g, 600)
  for _, rank in ipairs(redis.call('HKEYS', g)) do
    redis.call('RPUSH', p .. 'n:' .. rank, seq)
    redis.call('EXPIRE', p .. 'n:' .. rank, keep)
  end
end
local function vacate(rank, token, state)
  local cur = redis.call('HGET', m, rank)
  if not cur then return 0 end
  local was, inc, tok, name = string.match(cur, '^(%a)|(%d+)|(%w+)|(.*)$')
  if was ~= 'H' or tok ~= token then return 0 end
  redis.call('HSET', m, rank, state .. '|' .. inc .. '|' .. tok .. '|' .. name)
  redis.call('HINCRBY', c, 'here', -1)
  if state == 'F' then redis.call('HINCRBY', c, 'failed', 1) end
  redis.call('HDEL', gathering(), rank)
  complete()
  -- The job ends with its last member; who joins now begins another run, with keys of its own.
  if number('here') == 0 then redis.call('DEL', m, c) end
  return 1
end
)lua";

/// rank or "-", size, name, token, shrink, most ranks of an open job
inline const std::string join = common + R"lua(
local rank, size, name, token, shrink, most = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7])
if redis.call('EXISTS', c) == 0 then
  redis.call('HSET', c, 'size', size, 'shrink', shrink, 'here', 0, 'ever', 0, 'failed', 0, 'seq', 0, 'run', token)
  p = ARGV[1] .. token .. ':'
end
local have = number('size')
if size ~= '0' and tonumber(size) ~= have then return {'size', tostring(have)} end
local limit = have ~= 0 and have or most
if rank == '-' then
  local n = 0
  while n < limit do
    local cur = redis.call('HGET', m, n)
    if not cur or string.sub(cur, 1, 1) ~= 'H' then break end
    n = n + 1
  end
  if n >= limit then return {'full', tostring(limit)} end
  rank = tostring(n)
elseif tonumber(rank) >= limit then
  return {'range', tostring(limit)}
end
if name ~= '' then
  local all = redis.call('HGETALL', m)
  for i = 1, #all, 2 do
    local state, _, _, other = string.match(all[i + 1], '^(%a)|(%d+)|(%w+)|(.*)$')
    if state == 'H' and other == name then return {'name', all[i]} end
  end
end
local inc = 1
local cur = redis.call('HGET', m, rank)
if cur then
  local state, i = string.match(cur, '^(%a)|(%d+)|')
  if state == 'H' then return {'taken', rank} end
  if state == 'F' then redis.call('HINCRBY', c, 'failed', -1) end
  inc = tonumber(i) + 1
  redis.call('DEL', p .. 'x:' .. rank, p .. 'n:' .. rank)
else
  redis.call('HINCRBY', c, 'ever', 1)
end
redis.call('HINCRBY', c, 'here', 1)
redis.call('HSET', m, rank, 'H|' .. inc .. '|' .. token .. '|' .. name)
redis.call('EXPIRE', m, keep)
redis.call('EXPIRE', c, keep)
return {'ok', rank, tostring(inc), tostring(have), redis.call('HGET', c, 'shrink'),
        redis.call('HGET', c, 'run')}
)lua";

/// rank, token, "L" or "F". Returns whether that changed its state, and how many members are left.
inline const std::string vacate = common + R"lua(
local changed = vacate(ARGV[2], ARGV[3], ARGV[4])
return {changed, number('here')}
)lua";

/// rank, value. Returns the gathering's number, -1 when a member has failed.
inline const std::string gather = common + R"lua(
if number('failed') > 0 and redis.call('HGET', c, 'shrink') == '0' then return -1 end
local seq = number('seq')
local g = gathering()
redis.call('HSET', g, ARGV[2], ARGV[3])
redis.call('EXPIRE', g, keep)
complete()
return seq
)lua";

/// rank, number of the gathering. Returns 1 when it was still open.
inline const std::string withdraw = common + R"lua(
if number('seq') ~= tonumber(ARGV[3]) then return 0 end
redis.call('HDEL', gathering(), ARGV[2])
return 1
)lua";

}  // namespace qpx::backend::scripts
