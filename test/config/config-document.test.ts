import t from 'tap'
import { ids, lines, load, provider } from '../support/config.ts'

t.test('invalid YAML is refused with its place', async t => {
  const nested = Array.from({ length: 6 }, (_, index) => (
    `l${index + 1}: &l${index + 1} [${Array.from({ length: 9 }, () => `*l${index}`).join(', ')}]`
  ))
  const cases: Array<[yaml: string, line: string]> = [
    ['server: {}\nserver: {}\n', ':2:1  this entry is a duplicate'],
    ['providers:\n  openai: {retries: 1, retries: 2}\n', ':2:24  this entry is a duplicate'],
    ['a: 1\n---\nb: 2\n', ':2:1  only one document is allowed'],
    ['- server\n', ':1:1  must be a map of entries'],
    ['just text', ':1:1  must be a map of entries'],
    ['server: *nothing\n', ':1:9  unknown anchor'],
    ['server: &a\n  host: *a\n', ':2:9  self-referencing alias'],
    ['server: !secret x\n', ':1:9  tags (`!name`) are not supported'],
    ['server:\n\tport: 1\n', ':2:1  not valid YAML: Tabs are not allowed as indentation'],
    [['l0: &l0 [1, 1]', ...nested].join('\n'), ':6:25  too many alias expansions'],
    [`#${'x'.repeat(1024 * 1024)}`, ':1:1  larger than 1 MB']
  ]
  for (const [yaml, line] of cases) t.equal(lines(t, yaml)[0], `headgate.yaml${line}`)
})

t.test('nesting that is too deep is refused with its place, at any depth', async t => {
  for (const depth of [300, 20_000]) {
    const shapes = {
      'lists in brackets': `server: ${'['.repeat(depth)}${']'.repeat(depth)}`,
      'lists that do not end': `server: ${'['.repeat(depth)}`,
      'maps in braces': `server: ${'{a: '.repeat(depth)}${'}'.repeat(depth)}`,
      'lists of one line': `server:\n${'- '.repeat(depth)}a`
    }
    for (const [name, yaml] of Object.entries(shapes)) {
      t.match(lines(t, yaml)[0], /^headgate\.yaml:\d+:\d+ {2}nested deeper than 256 levels$/, `${depth} ${name}`)
    }
  }
})

t.test('anchors may be shared, and problems found through them', async t => {
  const yaml = `providers:
  groq: {timeouts: &slow {response_ms: 9, idle_bytes_ms: 8}}
  xai: {timeouts: *slow}
`
  const settings = load(t, yaml)
  t.match(provider(settings, 'xai').timeouts, { responseMs: 9, idleBytesMs: 8 })
  t.same(lines(t, yaml.replace('9', 'nine')), [
    'headgate.yaml:2:40  providers.groq.timeouts.response_ms  must be an integer',
    'headgate.yaml:2:40  providers.xai.timeouts.response_ms  must be an integer'
  ])
})

t.test('sections with all entries commented out are valid', async t => {
  t.same(ids(load(t, 'providers:\nmodels:\nkeys:\nserver:\n  port:\n')), ['sandbox'])
  t.same(ids(load(t, '# nothing\n')), ['sandbox'])
})
