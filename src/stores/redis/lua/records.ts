/**
 * The packed value of one key: one record per policy. A record is
 *
 * - the size of the state: 1 byte; for a log `narrow` or `wide`, and then the size as 4 bytes after the head
 * - the head: the length of the definition, the policy's id (from its name), and the definition (kind and numbers)
 * - the state: 7 bytes per number, or 8 if numbers may be fractions; the last number is left out if it is 0
 *
 * A state is found by its policy's id, and understood by its definition. A state with another definition is carried over.
 * Records of policies that the request does not name belong to another deploy or plan. They are kept until they expire.
 *
 * The usual value, which has just the records of one scope's policies in their order, is recognised by its length and
 * heads. Any other value is parsed record by record.
 */
export const records = `
local narrow, wide = 254, 255
local carry, revive, define, effectiveTime, parseRecords

local function newState(p)
  if p.grows then return p.algorithm.new() end
  local s = {}
  for n = 1, p.slots do s[n] = 0 end
  return s
end

-- A state that is new or was carried over, but not written, keeps its old record.
local function packRecord(p, s)
  if s.oldRecord then return s.oldRecord end
  if p.grows then
    local payload = p.algorithm.save(s)
    return char(s.form) .. p.head .. pack('<I4', #payload) .. payload
  end
  local slots = p.slots
  if s[slots] ~= 0 then return pack(p.longFormat, p.longHead, spread(s, 1, slots)) end
  if slots > 4 then return pack(p.shortFormat, p.shortHead, spread(s, 1, slots - 1)) end
  return pack(p.shortFormat, p.shortHead, s[1], s[2], s[3])
end

-- Reads a policy's state if its record is the next one. Returns where the record after it begins, or nil.
local function readRecord(p, value, position)
  local s, size, head = p.buffer, p.shortSize, nil
  if #value - position + 1 < size then return nil end
  head, s[1], s[2], s[3] = unpack(p.shortFormat, value, position)
  if head == p.shortHead then
    s[p.slots] = 0
  else
    size = p.longSize
    if #value - position + 1 < size then return nil end
    head, s[1], s[2], s[3], s[4] = unpack(p.longFormat, value, position)
    if head ~= p.longHead then return nil end
  end
  p.s = s
  return position + size
end

-- Reads the states of a value that has just the records of these policies in their order. Returns false for any other.
local function readRecords(scope, value)
  local position = 1
  for n = 1, #scope do
    if not scope[n].buffer then return false end
    position = readRecord(scope[n], value, position)
    if not position then return false end
  end
  return position > #value
end

function makers.parseRecords()
  local function unpackState(p, value, position, size, form)
    if p.grows then return p.algorithm.load(value, position, size, form) end
    local bytes = p.algorithm.numberFormat and 8 or 7
    local s = { unpack('<' .. rep(p.algorithm.numberFormat or 'i7', size / bytes), value, position) }
    for n = size / bytes + 1, p.slots + 1 do s[n] = 0 end
    return s
  end

  -- When the key has its full quota under these numbers, so that the record is no longer needed.
  local function fullAtOf(from, s, now)
    local at = effectiveTime(from, s[1], now)
    local _, reset = from.algorithm.report(from, s, at)
    return at + reset
  end

  -- The state of a record with another definition. A store may forget a key that has its full quota at any time, so
  -- nothing may depend on the record of such a key.
  local function carryOver(p, from, old, record, expires, now)
    local last = old and old[1] or 0
    local s = from and carry(p, from, old, now) or newState(p)
    s.oldRecord, s.expires, s.carried = record, expires, not p.retunes and (expires > now or last > now)
    return s
  end

  -- Loads the states of these policies from a value, and keeps the records of other policies as they are.
  function parseRecords(scope, value, now)
    local policyOf, others = {}, nil
    for _, p in ipairs(scope) do policyOf[sub(p.head, 2, 5)] = p end
    local at, length = 1, #value
    while at <= length do
      local form, defined = byte(value, at, at + 1)
      local id, definition = sub(value, at + 2, at + 5), sub(value, at + 6, at + 5 + defined)
      local start, size, p = at + 6 + defined, form, policyOf[id]
      if form >= narrow then size, start = unpack('<I4', value, start) end
      if p and sub(p.head, 6) == definition then
        p.s = unpackState(p, value, start, size, form)
      else
        make('carry')
        local record, from = sub(value, at, start + size - 1), revive(definition)
        local s = from and unpackState(from, value, start, size, form)
        local expires = from and fullAtOf(from, s, now) or now
        if p then
          p.s, scope.provisional = carryOver(p, from, s, record, expires, now), true
        elseif not from or expires > now then
          others = others or {}
          others[#others + 1] = { record, expires }
        end
      end
      at = start + size
    end
    scope.others = others
  end
end
`
