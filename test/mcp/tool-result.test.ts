import t from 'tap'
import { readResult } from '../../lib/mcp/tool-result.ts'

const many = (text: string, count: number) =>
  Array.from({ length: count }, () => ({ type: 'text' as const, text }))

t.test('structured content is printed once, whatever the number of text blocks', async t => {
  const structuredContent = {
    rows: Array.from({ length: 20_000 }, (_, row) => ({ row, name: `row ${row}` }))
  }
  let printed = 0
  Object.defineProperty(structuredContent, 'toJSON', { value: () => { printed++; return { rows: [] } } })
  const { text } = readResult({ content: many('1', 20_000), structuredContent }, 1e6, false)
  t.equal(printed, 1)
  t.equal(text, `${'1\n'.repeat(20_000)}{"rows":[]}`)
})

t.test('structured content repeated in a text block, in any layout, is not added to the text', async t => {
  const structuredContent = { a: [1, 2] }
  const { text, reported } = readResult(
    { content: many('{ "a": [1, 2] }', 1), structuredContent },
    1000,
    false
  )
  t.equal(text, '{ "a": [1, 2] }')
  t.equal(reported, structuredContent)
})

t.test('structured content is compared with the first object among the text blocks only', async t => {
  const structuredContent = { a: 1 }
  const textOf = (...texts: string[]): string =>
    readResult({ content: texts.flatMap(text => many(text, 1)), structuredContent }, 1000, false).text
  t.equal(textOf('Found it:', '[0]', ' {"a": 1}', '{"b":2}'), 'Found it:\n[0]\n {"a": 1}\n{"b":2}')
  t.equal(textOf('{"b":2}', '{"a":1}'), '{"b":2}\n{"a":1}\n{"a":1}', 'no other block is parsed')
})

t.test('structured content that exceeds the result limit is reported as cut text', async t => {
  const { text, reported } = readResult({ content: [], structuredContent: { a: 'x'.repeat(100) } }, 50, false)
  t.equal(reported, text)
  t.match(text, /^\{"a":"x+\n\[cut: the first 50 of 108 bytes\]$/)
})
