import { execFileSync } from 'node:child_process'
import { readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { readSettings } from '../../../lib/config/read-settings.ts'
import { adminGateway } from '../../support/admin.ts'
import { directory } from '../../support/config.ts'
import { configuredGateway } from '../../support/configured.ts'
import { countTurns } from '../../support/turns.ts'

const text = `# The company's gateway
server:
  port: 9000
providers:
  openai: {api_key: env:OPENAI_KEY}
  sandbox: {kind: sandbox}
`

const entry = (
  body: { readonly entries: ReadonlyArray<{ readonly path: string }> },
  path: string
): unknown => body.entries.find(found => found.path === path)

t.test('every entry is shown with its origin, without secrets', async t => {
  const { user } = await configuredGateway(t, text, false)
  const { body } = await (await user('admin')).send('GET /admin/v1/configuration')
  t.match(body, { file: 'headgate.yaml', text, editable: false, warnings: [], reloads: [] })
  t.same(entry(body, 'server.port'), { path: 'server.port', value: 9000, origin: 'file', variable: null })
  t.same(entry(body, 'server.host'), {
    path: 'server.host',
    value: '127.0.0.1',
    origin: 'environment',
    variable: 'HOST'
  })
  t.same(entry(body, 'usage.keep_days'), {
    path: 'usage.keep_days',
    value: 90,
    origin: 'default',
    variable: null
  })
  t.match(entry(body, 'providers.openai.api_key'), { value: 'env:OPENAI_KEY', origin: 'file' })
  t.notMatch(JSON.stringify(body), 'the-secret-itself')
  t.match((await (await user('admin')).send('GET /admin/v1/configuration/schema')).body, {
    properties: { server: Object }
  })
  t.equal((await (await user('member')).send('GET /admin/v1/configuration')).status, 403)
})

t.test('a draft is checked and compared; nothing is saved', async t => {
  const { user, file } = await configuredGateway(t, text, true)
  const { send } = await user('owner')
  const check = async (draft: string) =>
    (await send('POST /admin/v1/configuration/check', { text: draft })).body
  const { diff, ...good } = await check(
    text.replace('9000', '9001').replace('  sandbox: {kind: sandbox}\n', '')
  )
  t.same(good, {
    valid: true,
    problems: [],
    warnings: [],
    changed: ['server', 'providers.sandbox'],
    needs_restart: ['server.port']
  })
  t.same(
    diff.filter(({ kind }: { kind: string }) => kind !== 'same'),
    [
      { kind: 'removed', text: '  port: 9000' },
      { kind: 'added', text: '  port: 9001' },
      { kind: 'removed', text: '  sandbox: {kind: sandbox}' }
    ]
  )
  t.match(await check(text.replace('port', 'prot')), {
    valid: false,
    problems: [{ file: 'headgate.yaml', line: 3, path: 'server.prot', suggestion: 'server.port' }],
    changed: []
  })
  t.match(await check('a: [b'), { valid: false, problems: [{ line: 1 }] })
  t.match(await check(text.replace('OPENAI_KEY', 'NOT_SET')), {
    valid: false,
    problems: [{ path: 'providers.openai.api_key' }]
  })
  t.equal(readFileSync(file, 'utf8'), text)
})

t.test('a draft reads only files that the running configuration uses', async t => {
  const elsewhere = directory(t, { secret: 'a-name-nobody-should-see: 1', used: 'x'.repeat(40) })
  const { user, file } = await configuredGateway(
    t,
    `${text}keys: [{name: a, key: 'file:${elsewhere}/used'}]\n`,
    true
  )
  const { send } = await user('owner')
  const own = dirname(file)
  execFileSync('mkfifo', [join(own, 'pipe'), join(elsewhere, 'pipe')])
  symlinkSync(join(elsewhere, 'secret'), join(own, 'link'))
  writeFileSync(join(own, 'own'), 'y'.repeat(40))
  const check = async (draft: string) =>
    (await send('POST /admin/v1/configuration/check', { text: draft })).body
  // Each path in another setting, but few drafts: each check takes its own thread.
  for (const draft of [
    `catalogue: ${elsewhere}/secret`,
    "keys: [{name: a, key: 'file:link'}]",
    "metrics: {host: a}\nproviders: {openai: {api_key: 'file:/etc/passwd'}}",
    `catalogue: ${elsewhere}/pipe`,
    `keys: [{name: a, key: 'file:${elsewhere}/secret'}]`
  ]) {
    const { valid, problems } = await check(draft)
    t.match([valid, problems[0]?.message], [false, /cannot be read \(outside the directory/], draft)
    t.notMatch(JSON.stringify(problems), /a-name-nobody-should-see|root:/)
  }
  for (const draft of ['catalogue: pipe', 'keys: [{name: a, key: file:pipe}]']) {
    t.match(
      await check(draft),
      { valid: false, problems: [{ message: /cannot be read \(not a regular file\)/ }] },
      draft
    )
  }
  t.match(await check(`keys: [{name: a, key: 'file:${elsewhere}/used'}, {name: b, key: file:own}]`), {
    valid: true,
    problems: []
  })
})

t.test('other work continues while a large draft is checked, and its answer is bounded', async t => {
  const { user } = await configuredGateway(t, text, false)
  const { send } = await user('owner')
  const draft = Array.from({ length: 2000 }, (_, index) => `a${index}: 1`).join('\n')
  const turns = countTurns(t)
  const { body } = await send('POST /admin/v1/configuration/check', { text: draft })
  t.ok(turns() > 200, `${turns()} turns`)
  t.match(body, { valid: false, diff: { length: 2000 + text.split('\n').length } })
  t.equal(body.problems.length, 100)
})

t.test("the owner saves the file where allowed, but never over someone else's change", async t => {
  const { user, file, configuration, sources } = await configuredGateway(t, text, true)
  const [owner, admin] = [await user('owner'), await user('admin')]
  const { body: before } = await owner.send('GET /admin/v1/configuration')
  t.equal(before.editable, true)
  t.equal((await owner.send('GET /admin/v1/session')).body.features.edit_config, true)
  const next = text.replace('9000', '9001')
  const mode = statSync(file).mode
  t.equal(
    (await admin.send('POST /admin/v1/configuration', { text: next, revision: before.revision })).status,
    403
  )
  t.match(
    await owner.send('POST /admin/v1/configuration', { text: 'server: 5', revision: before.revision }),
    { status: 400, body: { error: { param: 'text' } } }
  )
  const saved = await owner.send('POST /admin/v1/configuration', { text: next, revision: before.revision })
  t.match(saved, { status: 200, body: { text: next } })
  t.equal(readFileSync(file, 'utf8'), next)
  t.equal(statSync(file).mode, mode)
  t.match(await owner.send('POST /admin/v1/configuration', { text, revision: before.revision }), {
    status: 409,
    body: { error: { param: 'revision' } }
  })
  t.match((await owner.send('GET /admin/v1/audit?action=configuration')).body.data, [
    { action: 'configuration.save', after: { changed: ['server'], needs_restart: ['server.port'] } }
  ])

  configuration.reloaded(readSettings(sources))
  t.match((await owner.send('GET /admin/v1/configuration')).body.reloads, [
    { changed: ['server'], needs_restart: ['server.port'] }
  ])
  writeFileSync(file, 'server: 5')
  t.match(
    (await owner.send('GET /admin/v1/configuration')).body,
    { warnings: [{ path: 'server' }], entries: saved.body.entries },
    'a file with problems leaves what is in effect'
  )
})

t.test(
  'an admin key with scopes cannot save it, since it decides who may sign in and what runs',
  async t => {
    const { user, send } = await configuredGateway(t, text, true)
    const owner = await user('owner')
    const {
      body: { revision }
    } = await owner.send('GET /admin/v1/configuration')
    const by = async (scopes?: readonly string[]) => {
      const { secret } = (await owner.send('POST /admin/v1/admin-keys', { name: 'x', scopes })).body
      return await send(
        'POST /admin/v1/configuration',
        { text, revision },
        { authorization: `Bearer ${secret}` }
      )
    }
    t.match(await by(['configuration:write']), {
      status: 403,
      body: { error: { message: /^An admin key with scopes cannot save/ } }
    })
    t.equal((await by()).status, 200)
  }
)

t.test('saving is off by default, and an embedded gateway has no configuration file', async t => {
  const { user, file } = await configuredGateway(t, text, false)
  const owner = await user('owner')
  const { revision } = (await owner.send('GET /admin/v1/configuration')).body
  t.equal((await owner.send('POST /admin/v1/configuration', { text: '', revision })).status, 403)
  t.equal(readFileSync(file, 'utf8'), text)
  const other = await adminGateway(t)
  t.equal((await (await other.user('owner')).send('GET /admin/v1/configuration')).status, 404)
})
