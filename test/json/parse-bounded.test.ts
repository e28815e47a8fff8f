import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseBounded } from '../../lib/json/parse-bounded.ts'

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

t.test('texts of others are parsed up to 256 levels', async t => {
  t.same(parseBounded(nested(256)), JSON.parse(nested(256)))
  t.throws(() => parseBounded(nested(257)), SyntaxError)
  t.throws(() => parseBounded('[1,'), SyntaxError)
})

t.test('what takes more than 40 ms to parse is refused', async t => {
  const list = (count: number, item: string): string => `[${Array.from({ length: count }, () => item).join()}]`
  t.equal(Object(parseBounded(list(400_000, '1'))).length, 400_000)
  t.throws(() => parseBounded(list(600_000, '1')), SyntaxError)
  t.throws(() => parseBounded(list(70_000, '{}')), SyntaxError)
  t.equal(Object(parseBounded(list(5, JSON.stringify(',{"'.repeat(300_000))))).length, 5, 'what a text holds is no value')
})

t.test('texts that callers and servers put into strings are parsed with a bound on their depth', async t => {
  const folder = join(import.meta.dirname, '../../../lib')
  const files = ['attempts', 'chat', 'client', 'dialects', 'mcp', 'providers', 'validation'].flatMap(name =>
    readdirSync(join(folder, name), { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts')).map(file => join(name, file)))
  t.ok(files.some(file => readFileSync(join(folder, file), 'utf8').includes('parseBounded(')))
  const unexplained = files.flatMap(file => readFileSync(join(folder, file), 'utf8').split('\n').filter(line => line.includes('JSON.parse(') && !line.includes(' // ')).map(line => `${file}: ${line}`))
  t.same(unexplained, [], 'call `parseBounded`, or say on the line why the depth is bounded, or that nothing walks or prints the value')
})
