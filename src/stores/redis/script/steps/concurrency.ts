/** The Lua version of algorithms/logs/concurrency.ts: a sliding log whose window is the lease (longest time in flight). */
export const concurrency = `
function makers.concurrency()
  local log = make('slidingLog')
  local concurrency = setmetatable({}, { __index = log })

  function concurrency.define(p, lease, limit)
    log.define(p, lease, limit)
    p.leases = true
  end

  function concurrency.bookedAt(p, s, at)
    return at + p.span
  end

  function concurrency.continues(p, from)
    return from.kind == p.kind
  end

  function concurrency.carry(p, s, at, from)
    concurrency.take(from, s, at, 0, 0)
    concurrency.shift(s, p.span - from.span)
  end

  return concurrency
end
`
