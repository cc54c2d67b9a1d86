/**
 * Takes more units than the call costs, for the asking process to spend by itself (see ../leases.ts): no more than are
 * left. It is told how many, and how long all of them stay taken: a unit that time has given back, the process must
 * not spend any more.
 */
export const leases = `
local lease

function makers.lease()
  local stays = {}

  function stays.bucket(p, s, at, units)
    return floor((s[2] - units * p.weight) / p.drain)
  end

  function stays.intervalBucket(p, s, at)
    return s[3] + p.window - at
  end

  function stays.slidingWindow(p, s, at)
    return s[2] + p.span - at
  end

  function stays.segmentedWindow(p, s, at)
    return (s[2] + 1) * p.width - at
  end

  function lease(step, units)
    local extra = units - cost
    for _, p in ipairs(step) do
      if not p.shadow then extra = min(extra, stays[p.kind] and p.algorithm.report(p, p.s, p.at) or 0) end
    end
    if not allowed or extra <= 0 then return answer(0) end
    cost = extra
    weigh(step, 0)
    local life = never
    answer(extra)
    for _, p in ipairs(step) do
      if not p.shadow then
        p.algorithm.take(p, p.s, p.at, extra, 0)
        life = min(life, stays[p.kind](p, p.s, p.at, extra))
      elseif p.wait == 0 then
        p.algorithm.take(p, p.s, p.at, extra, 0)
      end
      local _, left = p.algorithm.report(p, p.s, p.at)
      p.own.likeNew = max(p.own.likeNew, p.at + left)
    end
    answer(life)
  end
end
`
