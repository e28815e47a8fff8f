import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseBounded, isDeeperThan } from '../../lib/json/parse-bounded.ts'

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

t.test('texts of others are parsed up to 256 levels', async t => {
  t.same(parseBounded(nested(256)), JSON.parse(nested(256)))
  t.throws(() => parseBounded(nested(257)), SyntaxError)
  t.throws(() => parseBounded('[1,'), SyntaxError)
})

t.test('what takes more than 40 ms to parse is refused', async t => {
  const list = (count: number, item: string): string =>
    `[${Array.from({ length: count }, () => item).join()}]`
  t.equal(Object(parseBounded(list(400_000, '1'))).length, 400_000)
  t.throws(() => parseBounded(list(600_000, '1')), SyntaxError)
  t.throws(() => parseBounded(list(70_000, '{}')), SyntaxError)
  t.equal(
    Object(parseBounded(list(5, JSON.stringify(',{"'.repeat(300_000))))).length,
    5,
    'what a text holds is no value'
  )
})

t.test('texts that callers and servers put into strings are parsed with a bound on their depth', async t => {
  const folder = join(import.meta.dirname, '../../../lib')
  const files = ['attempts', 'chat', 'client', 'dialects', 'mcp', 'providers', 'validation'].flatMap(name =>
    readdirSync(join(folder, name), { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.ts'))
      .map(file => join(name, file))
  )
  t.ok(files.some(file => readFileSync(join(folder, file), 'utf8').includes('parseBounded(')))
  const unexplained = files.flatMap(file => {
    const lines = readFileSync(join(folder, file), 'utf8').split('\n')
    const isExplained = (index: number): boolean =>
      lines.slice(Math.max(0, index - 2), index + 2).some(line => /(?:^| )\/\/ /.test(line))
    return lines.flatMap((line, index) =>
      line.includes('JSON.parse(') && !isExplained(index) ? [`${file}: ${line}`] : []
    )
  })
  t.same(
    unexplained,
    [],
    'call `parseBounded`, or say beside it why the depth is bounded, or that nothing walks or prints the value'
  )
})

t.test('levels of objects and lists count, what stands in them does not', async t => {
  t.equal(isDeeperThan('text', 0), false)
  t.equal(isDeeperThan([], 0), true)
  t.equal(isDeeperThan([], 1), false)
  t.equal(isDeeperThan({ a: [1, null, { b: 'x' }] }, 2), true)
  t.equal(isDeeperThan({ a: [1, null, { b: 'x' }] }, 3), false)
})

t.test('the depth of a text does not choose the depth of the stack', async t => {
  t.equal(isDeeperThan(JSON.parse(nested(100_000)), 99_999), true)
})
