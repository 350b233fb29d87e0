-- Estimates the ms that a job of this tenant would wait in one group, in the order of fair queueing. Writes nothing.
--
-- KEYS[1]  <prefix>:fair:<queue>, KEYS[2] <prefix>:fair:<queue>:<class>, KEYS[3] the queue's prioritized set,
-- KEYS[4]  <prefix>:load:<queue>
-- ARGV[1]  smallest score of the class, ARGV[2] the class, then the more urgent ones, ARGV[3] tenant, ARGV[4] cost
-- ARGV[5]  engine ms of other groups, ARGV[6] how many groups these are, ARGV[7] workers that serve the group

local cost = tonumber(ARGV[4])
local _, _, ahead_ms = fair_place(KEYS[1], KEYS[2], KEYS[3], KEYS[4], tonumber(ARGV[1]), ARGV[2], ARGV[3], cost)
return math.ceil(wait_ms(ahead_ms, cost, tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])))
