/**
 * Takes a lease: more units than the call costs, but no more than are left. The process that sent the request spends these units later
 * without a request (see local/leases.ts). The response has the number of these units, and the time until the first of these units becomes
 * free, which ends the lease. If that time is too short to be useful, no lease is taken. For each policy with thresholds, the response also
 * has how many thresholds the leased units have reached.
 */
export const leases = `
local lease

function makers.lease()
  function lease(policies, units, shortestLife)
    local extra, life = units - cost, never
    for _, p in ipairs(policies) do
      if not p.shadow then
        -- Returns how long units that are taken now stay used. Algorithms without this function have no leases.
        local staysTaken = p.algorithm.staysTaken
        local stays = staysTaken and staysTaken(p, p.s, p.at)
        extra = min(extra, stays and p.algorithm.report(p, p.s, p.at) or 0)
        life = min(life, stays or never)
      end
    end
    if not allowed or extra <= 0 or life < shortestLife then return respond(0) end
    cost = extra
    evaluate(policies, 0)
    respond(extra)
    for n, p in ipairs(policies) do
      if not p.shadow or p.wait == 0 then
        p.algorithm.take(p, p.s, p.at, extra, 0)
        markWritten(p)
      end
      local _, reset = p.algorithm.report(p, p.s, p.at)
      p.scope.fullAt = max(p.scope.fullAt, p.at + reset)
      if p.thresholds then
        local _, _, used = p.algorithm.report(p, p.s, p.at)
        respond(tell(p, n, used))
      end
    end
    respond(life)
  end
end
`
