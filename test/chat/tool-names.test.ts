import t from 'tap'
import { nameTools, toolKey } from '../../lib/chat/tool-names.ts'

t.test('names are valid, unique and stable, and a tool keeps its own name if possible', async t => {
  const named = (
    tools: Array<[server: string, tool: string]>,
    ...taken: string[]
  ): Array<[string, string]> => [
    ...nameTools(
      tools.map(([server, tool]) => ({ server, tool, value: `${server} ${tool}` })),
      new Set(taken)
    )
  ]
  t.strictSame(
    named([
      ['a/one', 'read'],
      ['b/two', 'write.file']
    ]),
    [
      ['read', 'a/one read'],
      ['write_file', 'b/two write.file']
    ]
  )
  t.strictSame(
    named([
      ['a/one', 'read'],
      ['b/two', 'read']
    ]),
    [
      ['one__read', 'a/one read'],
      ['two__read', 'b/two read']
    ]
  )
  t.strictSame(named([['https://x.example/mcp', 'read']], 'read'), [
    ['x_example__read', 'https://x.example/mcp read']
  ])
  t.strictSame(named([['a/one', '2nd']]), [['_2nd', 'a/one 2nd']])
  const long = 'x'.repeat(100)
  const hard: Array<[string, string]> = [
    ['a/one', long],
    ['a/one', `${long}y`],
    ['b/one', 'a.b'],
    ['b/one', 'a_b'],
    ['c/one', 'same'],
    ['d/one', 'same'],
    ['e', ''],
    ['e', '日本'],
    ['e', '中国'],
    ['f', '1'.repeat(64)]
  ]
  const names = named(hard, 'one__same')
  t.equal(names.length, hard.length)
  t.ok(names.every(([name]) => /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/.test(name) && name !== 'one__same'))
  t.strictSame(
    names.map(([, value]) => value),
    hard.map(entry => entry.join(' ')),
    'each name maps back to its tool'
  )
  t.strictSame(named(hard, 'one__same'), names)
})

t.test('a key identifies one tool of one server', async t => {
  t.equal(toolKey('a', 'b'), toolKey('a', 'b'))
  t.not(toolKey('a', 'b","c'), toolKey('a","b', 'c'))
})
