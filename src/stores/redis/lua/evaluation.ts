/** Restates algorithms/step.ts: weigh, settle, refund, standing. The reply is one flat list of integers. */
export const frame = `
local consume, reserve, charge, refund, peek, reset = 0, 1, 2, 3, 4, 5
-- The first of the reply is the time.
local reply, size = {}, 1
-- Of the question at hand.
local verb, now, cost, allowed, takes, delay, waits
local canPromise, answerTickets, readTickets, giveBack, punish, settleRefused, refusal, nextAfter

local function answer(number)
  size = size + 1
  reply[size] = number == never and -1 or number
end

local function wrote(p)
  if p.s.before then p.s.before = nil end
  p.own.changed = true
end

function standing(p, last, now)
  if now < last and last - now < p.span then return last end
  return now
end

local function caughtUp(wait, lag)
  return wait == 0 and 0 or wait + lag
end

local function weigh(step, maxWait)
  delay, waits = 0, false
  for n = 1, #step do
    local p = step[n]
    local s = p.s
    local last, at, wait = s[1], now, 0
    if now < last then at = standing(p, last, now) end
    if verb == charge then
      if not p.algorithm.fits(p, s, at, cost, 0) then wait = never end
    elseif verb ~= refund then
      wait = p.algorithm.wait(p, s, at, cost)
    end
    if wait > 0 then
      waits = true
      wait = wait + (at - now)
      if wait > delay and not p.shadow then delay = wait end
    end
    p.at, p.wait = at, wait
  end
  allowed = delay == 0 or (verb == reserve and delay <= maxWait and canPromise(step))
  takes = allowed and verb ~= peek and verb ~= refund
end

local function settleOne(p, told)
  local s, at, own, algorithm = p.s, p.at, p.own, p.algorithm
  if takes and p.wait == 0 then
    algorithm.take(p, s, at, cost, 0)
    if s.before then s.before = nil end
    own.changed = true
  else
    settleRefused(p)
  end
  local remaining, left = algorithm.report(p, s, at)
  if p.first or at + left > own.likeNew then own.likeNew = at + left end
  if waits then answer(p.wait) end
  reply[size + 1], reply[size + 2] = remaining, left + (at - now)
  size = size + 2
  if told then answer(nextAfter(p, remaining)) end
end

-- Begins with 2 where nobody waits, which then is not told of each; else with 1 if the call is allowed, or a refusal.
local function settle(step, told)
  size = size + 1
  if takes and not waits then
    reply[size] = 2
  else
    make('refused')
    waits = true
    reply[size] = allowed and 1 or refusal(step)
  end
  if verb == reserve then answer(delay) end
  if told then make('refused') end
  for n = 1, #step do settleOne(step[n], told) end
end

function makers.refused()
  -- What happens to a policy that does not take the call at once, or when another does not.
  function settleRefused(p)
    if verb == peek or verb == refund then return end
    local s, at, wait, algorithm = p.s, p.at, p.wait, p.algorithm
    local lag = at - now
    if allowed and not p.shadow then
      algorithm.take(p, s, at, cost, wait - lag)
      p.wait = 0
    elseif p.countRefused and (p.punishes or not s.carried) then
      algorithm.count(p, s, at, cost)
      if wait > 0 or p.punishes then p.wait = caughtUp(algorithm.wait(p, s, at, cost), lag) end
    elseif at < s[1] then
      algorithm.take(p, s, at, 0, 0)
    else
      return
    end
    wrote(p)
  end

  function nextAfter(p, remaining)
    if remaining >= p.burst then return 0 end
    return p.algorithm.wait(p, p.s, p.at, remaining + 1) + (p.at - now)
  end

  -- A refusal: 3 where a state was only carried over to this time, and will be anew for the next question, else 0.
  function refusal(step)
    for n = 1, #step do
      if step[n].own.provisional then return 3 end
    end
    return 0
  end
end

function makers.reserve()
  -- A future time is promised by one enforced policy alone.
  function canPromise(step)
    local only
    for _, p in ipairs(step) do
      if not p.shadow and (not p.punishes or p.wait > 0) then
        if only then return false end
        only = p
      end
    end
    if not only or not only.promises or only.s.carried then return false end
    return only.algorithm.fits(only, only.s, only.at, cost, only.wait - (only.at - now))
  end

  function answerTickets(step)
    for n = 1, #step do
      local p = step[n]
      if p.wait == 0 then
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
end

function makers.refund()
  function readTickets(step, at)
    local tickets, present = {}, nil
    for n = 1, #step do
      present, at = unpack('<B', ARGV[2], at)
      tickets[n] = false
      if present == 1 then
        local since, mark, given
        since, mark, given, at = unpack('<ddd', ARGV[2], at)
        tickets[n] = { since, mark, given }
      end
    end
    return tickets, at
  end

  function giveBack(step, tickets)
    for n = 1, #step do
      local p = step[n]
      local _, left = p.algorithm.report(p, p.s, p.at)
      if left > 0 and (not tickets or tickets[n]) then
        if tickets then
          p.algorithm.refund(p, p.s, p.at, cost, spread(tickets[n]))
        else
          p.algorithm.refund(p, p.s, p.at, cost)
        end
        wrote(p)
      end
    end
  end

  -- The call was refused by policies of another slot.
  function punish(step)
    for n = 1, #step do
      local p = step[n]
      if p.punishes then
        p.algorithm.count(p, p.s, p.at)
        wrote(p)
        p.wait = caughtUp(p.algorithm.wait(p, p.s, p.at), p.at - now)
      end
    end
  end
end
`
