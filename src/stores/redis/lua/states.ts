/**
 * The keys of a call: each is read once and written once. The policies of one scope have one key loaded at a time, whose
 * states they hold until they load another.
 */
export const states = `
local margin
-- By the number of the key: the value that was read, or false; the value to write, or false to delete the key; the
-- expiry of the value that was read; and that of the value to write.
local read, written, readExpiry, writtenExpiry = nil, {}, {}, {}
-- By the number of the key: the scope that has it loaded. Only with several plans.
local loadedBy

-- The value to write, and its expiry: when the key has its full quota, plus a margin for clocks that differ. With a single
-- policy, it is rounded up to a whole grain. It then follows from the state alone, and most calls need not set it again.
local function packValue(scope)
  local first, others, expiry = scope[1], scope.others, scope.fullAt
  local value = packRecord(first, first.s)
  if not scope[2] and not others and not scope.provisional then
    local grain = first.grain
    return value, grain and ceil((expiry + margin) / grain) * grain or expiry + margin
  end
  for n = 2, #scope do value = value .. packRecord(scope[n], scope[n].s) end
  for _, p in ipairs(scope) do
    if p.s.oldRecord then expiry = max(expiry, p.s.expires) end
  end
  for _, other in ipairs(others or {}) do
    value = value .. other[1]
    expiry = max(expiry, other[2])
  end
  return value, expiry + margin
end

local function unload(scope)
  local key = scope.key
  if scope.changed then
    written[key], writtenExpiry[key] = packValue(scope)
    scope.changed = false
  end
  scope.key = false
  if loadedBy then loadedBy[key] = nil end
end

-- Loads the states of a key into the policies of a scope. Returns true if its value is broken: then nothing is loaded.
local function load(scope, key, now)
  if scope.key then unload(scope) end
  if loadedBy then
    if loadedBy[key] then unload(loadedBy[key]) end
    loadedBy[key] = scope
  end
  scope.key, scope.provisional, scope.others = key, false, nil
  local value, first = written[key], scope[1]
  if value == nil then value = read[key] end
  if value and readRecords(scope, value) then
    if first.grain and not scope[2] and written[key] == nil then
      local s = first.s
      local _, reset = first.algorithm.report(first, s, s[1])
      readExpiry[key] = ceil((s[1] + reset + margin) / first.grain) * first.grain
    end
    return
  end
  for n = 1, #scope do scope[n].s = nil end
  if value then
    make('parseRecords')
    if not pcall(parseRecords, scope, value, now) then
      scope.key = false
      if loadedBy then loadedBy[key] = nil end
      return true
    end
  end
  for n = 1, #scope do
    if not scope[n].s then
      local s = newState(scope[n])
      s.oldRecord, s.expires, scope[n].s = '', 0, s
    end
  end
end

local function forget(scope, key)
  local loaded = loadedBy and loadedBy[key] or scope.key == key and scope
  if loaded then loaded.key, loaded.changed = false, false end
  if loadedBy then loadedBy[key] = nil end
  written[key] = false
end

local lastLife, lifeText

-- Writes the key if it changed.
local function save(key, name, now)
  local value = written[key]
  if value == nil then return end
  if not value then return call('DEL', name) end
  if writtenExpiry[key] == readExpiry[key] and #value == #read[key] then return call('SETRANGE', name, '0', value) end
  local life = ceil((writtenExpiry[key] - now) / 1000)
  if life <= 0 then return call('DEL', name) end
  -- Consecutive keys often have the same life.
  if life ~= lastLife then lastLife, lifeText = life, format('%d', life) end
  call('SET', name, value, 'PX', lifeText)
end
`
