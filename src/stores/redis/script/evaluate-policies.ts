/**
 * The largest number that a reply of the script contains as an integer. Larger numbers are sent as text, because some clients parse
 * integers digit by digit and round numbers just below 2^53.
 */
export const largest: number = 9007199254740000

/** A flag in the verb of a request: the response of the script has to say how long it takes until `remaining` grows. */
export const nextFlag = 8
/** The same as `nextFlag`, but only for a refused call: this process can refuse such calls without Redis until `remaining` grows. */
export const cacheableFlag = 16

/**
 * The Lua version of algorithms/evaluation/evaluation.ts. It serves the requests of a batch in order. The reply is one flat list of
 * integers. Requests other than consume, reserve and peek at one cost are handled in other-verbs.ts.
 */
export const evaluation: string = `
local CONSUME, RESERVE, CHARGE, REFUND, PEEK, RESET, SETTLE, RENEW = 0, 1, 2, 3, 4, 5, 6, 7
-- The number of RESET with the flag that sets a ban. A RESET with the flag that removes a ban has another number.
local BAN = 13
-- The reply, whose first number is the time, and how many numbers the reply has.
local reply, size
-- The values of the current request. A request is plain if it is CONSUME, RESERVE or PEEK with one cost for all policies.
-- For other requests, \`costs\` may have a cost for each policy, and \`cost\` is the cost under the current policy.
local verb, now, plain, cost, costs, allowed, takes, delay, waits
-- In a call over several hash slots (wire/two-phase.ts): true if a later request counts a refusal, or notes the reported thresholds.
local countsLater, tellsLater
-- The functions for a request that tries several costs. Nil for a request with one cost.
local list
local verbs, canPromise, changeAll, commitOne, change, respondVerdict, restart, commitRefused, refusalCode, nextAfter, respondTickets
local tell

local largest = ${largest}

local function respond(number)
  size = size + 1
  if number > largest then number = number == never and -1 or format('%.0f', number) end
  reply[size] = number
end

local function markWritten(p)
  if p.s.oldRecord then p.s.oldRecord = nil end
  p.scope.changed = true
end

function effectiveTime(p, last, now)
  return now < last and last - now < p.tolerance and last or now
end

local function withLag(wait, lag)
  return wait == 0 and 0 or wait + lag
end

local function waitNow(p, cost)
  if cost == 0 and not p.spends then return 0 end
  local wait = withLag(p.algorithm.wait(p, p.s, p.at, cost), p.at - now)
  return wait > 0 and p.s.carried and waitCarried(p, p.s.foreign, cost, wait) or wait
end

local function evaluate(policies, maxWait)
  delay, waits = 0, false
  if plain then
    for n = 1, #policies do
      local p = policies[n]
      local s = p.s
      local last, at = s[1], now
      if now < last then at = effectiveTime(p, last, now) end
      local wait = p.algorithm.wait(p, s, at, cost)
      if wait > 0 then
        waits = true
        wait = wait + (at - now)
        if s.carried then wait = waitCarried(p, s.foreign, cost, wait) end
        if wait > delay and not p.shadow then delay = wait end
      end
      p.at, p.wait = at, wait
    end
  else
    verbs.longestWait(policies)
  end
  allowed = delay == 0 or (verb == RESERVE and delay <= maxWait and canPromise(policies))
  takes = allowed and verb ~= PEEK and verb ~= REFUND and verb ~= SETTLE
end

function makers.reserve()
  -- True if a reservation may wait: under exactly one enforced policy. Penalties and concurrency policies without a wait do not count.
  function canPromise(policies)
    local only
    for n, p in ipairs(policies) do
      if costs then cost = costs[n] end
      if not p.shadow and (p.wait > 0 or cost > 0 and not (p.punishes or p.leases)) then
        if only then return false end
        only = n
      end
    end
    if not only then return false end
    local p = policies[only]
    if costs then cost = costs[only] end
    if not p.promises or p.s.carried then return false end
    return p.algorithm.fits(p, p.s, p.at, cost, p.wait - (p.at - now))
  end

  -- For each policy, adds to the reply: 0, or 1 and the ticket (time and id), or 2 and the ticket of a reservation that expires.
  -- @param id the id for states that have no open reservation yet
  -- @param expires after how many microseconds the reservation gives its units back; 0 if it keeps them
  function respondTickets(policies, id, expires)
    for n = 1, #policies do
      local p = policies[n]
      local from, s, at, ahead = p, p.s, p.at, p.delay or 0
      p.delay = nil
      if costs then cost = costs[n] end
      if verb == RENEW and s.foreign then
        from, s = s.foreign.policy, s.foreign.s
        at = effectiveTime(from, s[1], now)
      end
      if p.wait > 0 or cost == 0 or (verb == RENEW and not (from.leases and verbs.tickets[n])) then
        respond(0)
      elseif not from.idSlot then
        respond(1)
        respond(from.spends and from.since or 0)
        respond(0)
      else
        if s[from.idSlot] <= 0 then s[from.idSlot] = id end
        local expire = expires > 0 and from.expiring and not make('expiring').isFull(s, at)
        respond(expire and 2 or 1)
        respond(from.algorithm.bookedAt(from, s, at, ahead) + (verb == RENEW and p.leases and p.span - from.span or 0))
        respond(s[from.idSlot])
        if expire then
          make('expiring').add(s, s[from.idSlot], cost, at + expires)
          respond(at + expires)
        end
      end
    end
  end
end

-- Adds to the reply: 2 if no policy waits (the reply then has no waits); else 1 for an allowed call, or a refusal code.
local function commit(policies, withNext)
  local last = policies[#policies]
  if last.spends then waits = true end -- the reply has the length of a ban that begins
  size = size + 1
  if takes and not waits then
    reply[size] = 2
  else
    make('refused')
    waits = true
    reply[size] = allowed and 1 or refusalCode(policies)
  end
  if verb == RESERVE then respond(delay) end
  if withNext then make('refused') end
  if not list and (takes or not last.restarts) and not last.spends then
    for n = 1, #policies do commitOne(policies[n], n, withNext) end
  else
    local banned = changeAll(policies)
    if list then list.commitFirst(policies) end
    for n = 1, #policies do respondVerdict(policies[n], n, withNext) end
    if banned > 0 then make('spent').restart(policies) end
  end
end

-- Changes the states of all policies. Returns how long the ban lasts that the request began by spending a quota; else 0.
function changeAll(policies)
  -- If there is a penalty, it is the last policy.
  local last = policies[#policies]
  local free = last.restarts and not last.shadow and last.wait == 0
  for n = 1, #policies do change(policies[n], n) end
  if free and last.wait > 0 then restart(last, policies) end
  return last.spends and make('spent').ban(last, policies) or 0
end

function commitOne(p, n, withNext)
  change(p, n)
  respondVerdict(p, n, withNext)
end

function change(p, n)
  if not plain then
    verbs.takeMore(p, n)
  elseif p.wait == 0 and takes then
    if cost == 0 then return end -- a request for a lease only
    p.algorithm.take(p, p.s, p.at, cost, 0)
    if p.s.oldRecord then p.s.oldRecord = nil end
    p.scope.changed = true
  else
    commitRefused(p)
  end
end

function respondVerdict(p, n, withNext)
  local s, at, scope, algorithm = p.s, p.at, p.scope, p.algorithm
  local remaining, reset, used = algorithm.report(p, s, at)
  reset = reset + (at - now)
  if s.carried and s.oldRecord then reset = resetCarried(p, s.foreign, reset) end
  if p.resetWithin then reset = min(reset, p.resetWithin) end -- a ban that begins resets the policy
  if p.first or now + reset > scope.fullAt then scope.fullAt = now + reset end
  if waits then respond(p.wait) end
  -- The reply has the used units only if they differ from the burst minus \`remaining\`.
  if used and used ~= p.burst - remaining then
    respond(-remaining - 1)
    respond(used)
  else
    size = size + 1
    reply[size] = remaining > largest and format('%.0f', remaining) or remaining
  end
  size = size + 1
  reply[size] = reset
  if p.thresholds then
    make('told')
    respond(tell(p, n, used))
  end
  if withNext then respond(nextAfter(p, remaining)) end
end

function makers.told()
  -- Notes in the state which thresholds this response reports, and returns how many. A state of another kind, which a charge does not
  -- convert, has no place for the note.
  -- @param used the used units after the request
  function tell(p, n, used)
    local s, took, count, told = p.s, p.settled or takes and p.wait == 0 and verb ~= RENEW, 0, p.s[5]
    local foreign = s.oldRecord and s.foreign
    if costs then cost = costs[n] end
    p.settled = nil
    if not took or cost <= 0 and not (tellsLater and verb == CHARGE and not verbs.silent[n]) or (foreign and not p.algorithm.continues(p, foreign.policy)) then return 0 end
    for i = 1, #p.thresholds, 2 do
      local part, units = p.thresholds[i], p.thresholds[i + 1]
      if part > told and units <= used then told, count = part, count + 1 end
    end
    if not tellsLater or verb == CHARGE then s[5] = told end
    if foreign then foreign.s[5] = s[5] end
    return count
  end
end

function makers.refused()
  -- Changes the state of a policy if the call is refused by any policy, or booked for a later time.
  function commitRefused(p)
    if verb ~= CONSUME and verb ~= RESERVE then return end
    local s, at, wait, algorithm = p.s, p.at, p.wait, p.algorithm
    local lag = at - now
    if allowed and not p.shadow then
      p.delay = wait - lag
      algorithm.take(p, s, at, cost, wait - lag)
      p.wait = 0
    elseif p.countRefused and not (countsLater and (p.punishes or not (p.shadow or takes))) and (p.punishes or cost > 0 and not s.carried) then
      algorithm.count(p, s, at, cost, delay - lag)
      p.wait = withLag(algorithm.wait(p, s, at, cost), lag)
    else
      if at < s[1] or s.foreign then make('verbs').takeTime(p) end
      return
    end
    markWritten(p)
  end

  -- Resets the states of the other policies with the penalty's key, except units in flight.
  function restart(penalty, policies)
    for n, p in ipairs(policies) do
      if p.scope == penalty.scope and not p.punishes and not p.leases then
        if costs then cost = costs[n] end
        p.s, p.at = newState(p), now
        p.wait = cost == 0 and 0 or p.algorithm.wait(p, p.s, now, cost)
        markWritten(p)
      end
    end
  end

  function nextAfter(p, remaining)
    if remaining >= p.burst then return 0 end
    local s, wait = p.s, p.algorithm.wait(p, p.s, p.at, remaining + 1) + (p.at - now)
    if s.carried and s.oldRecord then wait = waitCarried(p, s.foreign, remaining + 1, wait) end
    return p.resetWithin and min(wait, p.resetWithin) or wait
  end

  -- The code of a refusal: 3 if a changed state was used only for this request, so the next response may differ; else 0.
  function refusalCode(policies)
    for n = 1, #policies do
      if policies[n].scope.provisional then return 3 end
    end
    return 0
  end
end
`
