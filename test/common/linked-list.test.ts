import { expect, test } from 'vitest'
import { LinkedList, type ListNode } from '../../src/common/linked-list.ts'

class Letter implements ListNode<Letter> {
  before: Letter | undefined
  after: Letter | undefined
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

function listOf(names: string): { list: LinkedList<Letter>; letters: Letter[] } {
  const list = new LinkedList<Letter>()
  const letters = [...names].map((name) => new Letter(name))
  for (const letter of letters) list.add(letter)
  return { list, letters }
}

function read(list: LinkedList<Letter>): { forwards: string; backwards: string } {
  let forwards = ''
  let backwards = ''
  for (let letter = list.first; letter !== undefined; letter = letter.after) forwards += letter.name
  for (let letter = list.last; letter !== undefined; letter = letter.before) backwards += letter.name
  return { forwards, backwards }
}

test('a list keeps the order in which nodes are added, read from either end', () => {
  expect(read(listOf('').list)).toEqual({ forwards: '', backwards: '' })
  expect(read(listOf('abc').list)).toEqual({ forwards: 'abc', backwards: 'cba' })
})

test('a node can be put behind any other, and in front of all', () => {
  const { list, letters } = listOf('bd')
  list.insertAfter(new Letter('c'), letters[0])
  list.insertAfter(new Letter('a'), undefined)
  list.insertAfter(new Letter('e'), letters[1])
  expect(read(list)).toEqual({ forwards: 'abcde', backwards: 'edcba' })
})

test.each([
  ['a', 'bc'],
  ['b', 'ac'],
  ['c', 'ab'],
])('%s can be removed from abc, once', (name, left) => {
  const { list, letters } = listOf('abc')
  const letter = letters.find((each) => each.name === name) as Letter
  expect(list.remove(letter)).toBe(true)
  expect(list.remove(letter)).toBe(false)
  expect(read(list)).toEqual({ forwards: left, backwards: [...left].reverse().join('') })
  list.add(letter)
  expect(read(list).forwards).toBe(left + name)
})

test('the only node can be removed and added again', () => {
  const { list, letters } = listOf('a')
  expect(list.remove(letters[0] as Letter)).toBe(true)
  expect(read(list)).toEqual({ forwards: '', backwards: '' })
  list.add(letters[0] as Letter)
  expect(read(list)).toEqual({ forwards: 'a', backwards: 'a' })
})
