/**
 * Takes more units than the call costs, for the requesting process to spend by itself (see ../leases.ts), and no more than
 * are left. It responds with how many, and with how long all of them stay taken: the process must not spend a unit that
 * time has given back. If that is too short to be of use, nothing is taken.
 */
export const leases = `
local lease

function makers.lease()
  -- How long all units stay taken, by the kind of algorithm. Other kinds lease nothing.
  local staysTaken = {}

  function staysTaken.bucket(p, s)
    return floor(s[2] / p.rate)
  end

  function staysTaken.intervalBucket(p, s, at)
    return s[3] + p.per - at
  end

  function staysTaken.slidingWindow(p, s, at)
    return s[2] + p.span - at
  end

  function staysTaken.segmentedWindow(p, s, at)
    return (s[2] + 1) * p.width - at
  end

  function lease(policies, units, shortestLife)
    local extra, life = units - cost, never
    for _, p in ipairs(policies) do
      -- What was used before may be given back sooner than it drains while reservations are open.
      local leases = staysTaken[p.kind] and not (p.kind == 'bucket' and p.s[3] ~= 0)
      if not p.shadow then
        extra = min(extra, leases and p.algorithm.report(p, p.s, p.at) or 0)
        if leases then life = min(life, staysTaken[p.kind](p, p.s, p.at)) end
      end
    end
    if not allowed or extra <= 0 or life < shortestLife then return respond(0) end
    cost = extra
    evaluate(policies, 0)
    respond(extra)
    for _, p in ipairs(policies) do
      if not p.shadow or p.wait == 0 then p.algorithm.take(p, p.s, p.at, extra, 0) end
      local _, reset = p.algorithm.report(p, p.s, p.at)
      p.scope.fullAt = max(p.scope.fullAt, p.at + reset)
    end
    respond(life)
  end
end
`
