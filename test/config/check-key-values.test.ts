import t from 'tap'
import { readSettings } from '../../lib/config/read-settings.ts'
import { directory, lines } from '../support/config.ts'

t.test('keys and their names are unique', async t => {
  const yaml =
    'keys:\n- {name: admin, key: env:A}\n- {name: web, key: env:B, endpoints: [chat]}\n- {name: environment-8e8386e7a4b8, key: env:C}'
  t.same(
    lines(t, yaml, {
      A: 'same',
      B: 'same',
      C: 'other',
      HEADGATE_API_KEYS: 'a-key-of-24-characters-00,another-key-of-24-letters\u200b'
    }),
    [
      'environment  HEADGATE_API_KEYS  key 2 contains a character not allowed in headers (position 26)',
      'headgate.yaml:3:20  keys[1].key  is the same as that of another key',
      'headgate.yaml:4:10  keys[2].name  is the name of a key in HEADGATE_API_KEYS'
    ]
  )
  t.same(
    lines(t, yaml, {
      A: 'a',
      B: 'another-key-of-24-letters',
      C: 'c',
      HEADGATE_API_KEYS: 'another-key-of-24-letters'
    }),
    ['environment  HEADGATE_API_KEYS  key 1 is the same as that of an entry of keys'],
    'it would extend the rights of the other'
  )
})

t.test('a guessable key from the environment is refused, and a short one gives a warning', async t => {
  const warnings = (key: string): string[] =>
    readSettings({ env: { HEADGATE_API_KEYS: key }, cwd: directory(t) }).warnings.map(
      ({ path, message }) => `${path}  ${message}`
    )
  t.same(lines(t, '', { HEADGATE_API_KEYS: `${'x'.repeat(7)},${'y'.repeat(24)}` }), [
    'environment  HEADGATE_API_KEYS  key 1 has 7 characters, which can be guessed; use at least 24 random ones'
  ])
  t.same(warnings('x'.repeat(8)), ['HEADGATE_API_KEYS  key 1 has 8 characters; use at least 24 random ones'])
  t.same(warnings('x'.repeat(24)), [])
})

t.test('a short key in the configuration gives a warning', async t => {
  const { warnings } = readSettings({
    text: 'keys:\n- {name: web, key: env:A}\n- {name: app, key: env:B}\n',
    env: { A: 'x', B: 'y'.repeat(24) },
    cwd: directory(t)
  })
  t.same(warnings.map(({ path, message }) => `${path}  ${message}`), [
    'keys[0].key  is too short to be hard to guess; use at least 24 random characters'
  ])
})

t.test('a guessable admin key from the environment is refused, and a valid one is accepted', async t => {
  const problem =
    'environment  HEADGATE_ADMIN_KEY  must be hga_ and at least 24 letters, digits, hyphens or underscores, such as hga_$(openssl rand -hex 24)'
  for (const wrong of ['x', 'hga_short', 'a'.repeat(40), `hga_${'a'.repeat(24)} b`]) {
    t.same(lines(t, '', { HEADGATE_ADMIN_KEY: wrong }), [problem], wrong)
  }
  const key = `hga_${'a'.repeat(24)}`
  const { settings } = readSettings({ env: { HEADGATE_ADMIN_KEY: key }, cwd: directory(t) })
  t.equal(settings.adminKey?.reveal(), key)
  t.notOk(JSON.stringify(settings).includes(key), 'it is never printed')
})
