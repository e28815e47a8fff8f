import t from 'tap'
import { headgate } from '../support/command.ts'

t.test('check says which catalogue file is used and what is in it', async t => {
  const model = {
    id: 'openai/gpt-6',
    display_name: 'Six',
    description: 'Newer.',
    status: 'enabled',
    upstream_api: 'x',
    can: ['text']
  }
  const directory = t.testdir({
    'headgate.yaml': 'catalogue: own.json',
    'own.json': JSON.stringify({ families: [], models: [model] }),
    'bad.yaml': 'catalogue: bad.json',
    'bad.json': JSON.stringify({ families: [], models: [{ ...model, id: 'x' }] })
  })
  t.match(await headgate(t, ['check'], directory), {
    code: 0,
    out: /catalogue: own\.json \(1 models, 0 families\)/
  })
  t.match(await headgate(t, ['check', '-c', 'bad.yaml'], directory), {
    code: 1,
    error: /bad\.json:1:\d+ {2}models\[0\]\.id {2}must be/
  })
})

t.test('check reports every problem of a configuration with its place', async t => {
  const directory = t.testdir({
    'headgate.yaml': 'server:\n  prt: 1\nproviders:\n  sandbox: {}\n',
    'good.yaml': 'providers:\n  sandbox: {}\n',
    'odd.yaml': 'providers:\n  sandbox: {}\nroutes: {fast: [sandbox/eco]}\n'
  })
  t.match(await headgate(t, ['check'], directory), {
    code: 1,
    out: '',
    error: /headgate.yaml:2:3 .*did you mean .*port/
  })
  const json = await headgate(t, ['check', '--json'], directory)
  t.equal(json.code, 1)
  t.match(JSON.parse(json.out), {
    ok: false,
    problems: [{ line: 2, path: 'server.prt', suggestion: 'port' }]
  })
  t.match(await headgate(t, ['check', '-c', 'good.yaml'], directory), {
    code: 0,
    out: /OK[^]*providers: sandbox/
  })
  const odd = await headgate(t, ['check', '-c', 'odd.yaml'], directory)
  t.match(odd, {
    code: 0,
    out: /^Configuration OK\./,
    error: /^odd.yaml:3:17 {2}routes.fast\[0\] {2}warning: .*did you mean sandbox\/echo\?/
  })
  const oddJson = await headgate(t, ['check', '-c', 'odd.yaml', '--json'], directory)
  t.match(JSON.parse(oddJson.out), {
    ok: true,
    warnings: [{ path: 'routes.fast[0]', suggestion: 'sandbox/echo' }]
  })
  t.equal(oddJson.error, '')
  t.same((JSON.parse(oddJson.out) as { notes: unknown }).notes, [])
  t.match(await headgate(t, ['check', '-c', 'none.yaml'], directory), {
    code: 1,
    error: /none.yaml {2}file not found/
  })
})

t.test('check notes the effects of valid entries, reports no problem and runs no module', async t => {
  const file = `stages:
  - name: internal
    use: pattern
    patterns:
      - name: ticket
        match: 'TCK-\\d+'
        max_length: 8
  - name: mine
    use: ./throws.mjs
`
  const directory = t.testdir({ 'headgate.yaml': file, 'throws.mjs': 'throw new Error("it ran")' })
  const text = await headgate(t, ['check'], directory)
  t.match(text, { code: 0, error: '' })
  t.equal(
    text.out.split('\n').at(-1),
    'headgate.yaml:6:16  stages[0].patterns[0].match  note: is read as `TCK-\\d{1,8}`: `max_length` bounds repetitions'
  )
  const json = await headgate(t, ['check', '--json'], directory)
  t.equal(json.code, 0)
  t.match(JSON.parse(json.out), {
    ok: true,
    warnings: [],
    notes: [{
      file: 'headgate.yaml',
      line: 6,
      column: 16,
      path: 'stages[0].patterns[0].match',
      message: /^is read as/
    }]
  })
})

t.test('check takes one file', async t => {
  const directory = t.testdir({ 'a.yaml': '', 'b.yaml': 'nonsense: 1' })
  t.match(await headgate(t, ['check', 'a.yaml', 'b.yaml'], directory), { code: 2, error: /name one file/ })
  t.match(await headgate(t, ['check', '-c', 'a.yaml', 'b.yaml'], directory), {
    code: 2,
    error: /name one file/
  })
})
