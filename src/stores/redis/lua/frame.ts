/** Restates algorithms/step.ts: weigh, settle, refund, standing. The reply is one flat list of integers. */
export const frame = `
local consume, reserve, charge, refund, peek, reset = 0, 1, 2, 3, 4, 5
local reply, size = {}, 1 -- the first is the time

local function answer(number)
  size = size + 1
  reply[size] = number == never and -1 or number
end

local function wrote(p)
  p.s[p.slots + 1], dirty[p.key] = 0, true
end

local function standing(p, last, now)
  if now < last and last - now < p.span then return last end
  return now
end

-- A future time is promised by one enforced policy alone.
local function canPromise(step)
  local only
  for _, p in ipairs(step) do
    if not p.shadow then
      if only then return false end
      only = p
    end
  end
  if not only or not only.promises then return false end
  return only.algorithm.fits(only, only.s, only.at, step.cost, only.wait - (only.at - step.now))
end

local function weigh(step, verb, now, cost, maxWait)
  step.verb, step.now, step.cost = verb, now, cost
  local delay = 0
  for n = 1, #step do
    local p = step[n]
    local s = p.s
    local last = s[1]
    local at = now
    if now < last then at = standing(p, last, now) end
    local wait = 0
    if verb == charge then
      if not p.algorithm.fits(p, s, at, cost, 0) then wait = never end
    elseif verb ~= refund then
      wait = p.algorithm.wait(p, s, at, cost)
    end
    if wait > 0 then
      wait = wait + at - now
      if wait > delay and not p.shadow then delay = wait end
    end
    p.at, p.wait = at, wait
  end
  step.delay = delay
  step.allowed = delay == 0 or (verb == reserve and delay <= maxWait and canPromise(step))
end

local function giveBack(step, tickets)
  for n = 1, #step do
    local p = step[n]
    local _, left = p.algorithm.report(p, p.s, p.at)
    if left > 0 and (not tickets or tickets[n]) then
      if tickets then
        p.algorithm.refund(p, p.s, p.at, step.cost, spread(tickets[n]))
      else
        p.algorithm.refund(p, p.s, p.at, step.cost)
      end
      wrote(p)
    end
  end
end

local function settleOne(step, p, told)
  local s, at, algorithm = p.s, p.at, p.algorithm
  local lag = at - step.now
  local wait = p.wait
  if step.verb ~= peek and step.verb ~= refund then
    if step.allowed and (wait == 0 or not p.shadow) then
      algorithm.take(p, s, at, step.cost, wait == 0 and 0 or wait - lag)
      wrote(p)
      wait = 0
    elseif p.countRefused then
      algorithm.count(p, s, at, step.cost)
      wrote(p)
      if wait > 0 then wait = algorithm.wait(p, s, at, step.cost) + lag end
    elseif at < s[1] then
      algorithm.take(p, s, at, 0, 0)
      wrote(p)
    end
  end
  local remaining, left = algorithm.report(p, s, at)
  if s[p.slots + 1] ~= unwritten then s[p.slots + 1] = step.now + left + lag end
  p.remaining = remaining
  reply[size + 1], reply[size + 2], reply[size + 3] = wait == never and -1 or wait, remaining, left + lag
  size = size + 3
  if told then answer(remaining < p.burst and algorithm.wait(p, s, at, remaining + 1) + lag or 0) end
end

local function settle(step, told)
  size = size + 1
  reply[size] = step.allowed and 1 or 0
  if step.verb == reserve then answer(step.delay) end
  for n = 1, #step do settleOne(step, step[n], told) end
end

local function answerTickets(step)
  for n = 1, #step do
    local p = step[n]
    if p.wait == 0 or not p.shadow then
      local since, mark, given = p.algorithm.ticket(p, p.s)
      answer(1)
      answer(since)
      answer(mark)
      answer(given)
    else
      answer(0)
    end
  end
end
`
