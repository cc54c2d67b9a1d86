/** Restates algorithms/concurrency.ts: a sliding log whose window is the lease. */
export const concurrency = `
function makers.concurrency()
  local log = make('slidingLog')
  local concurrency = setmetatable({}, { __index = log })

  function concurrency.define(p, lease, limit)
    log.define(p, lease, limit)
    p.leases = true
  end

  return concurrency
end
`
