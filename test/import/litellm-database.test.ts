/**
 * Runs over rows of our own; and, with `HEADGATE_TEST_POSTGRES` and `HEADGATE_TEST_LITELLM=PYTHON` (a Python
 * with `litellm[proxy]`), over the tables of LiteLLM's own migrations, with keys and secrets hashed and
 * encrypted by its own functions.
 */

import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { launch, directoryOf, main, type Running } from '../support/headgate.ts'
import { headgate } from '../support/command.ts'
import {
  importedTables,
  litellmConfig,
  litellmTables,
  notesOf,
  saltKey,
  secrets,
  tokens,
  type LitellmFunctions
} from '../support/litellm-tables.ts'
import { freePort } from '../support/free-port.ts'
import { litellmKey, startLitellm } from '../support/litellm-proxy.ts'
import { eventually, until } from '../support/until.ts'
import { chatAnswer, fakeUpstream } from '../support/upstream.ts'
import type { Test } from 'tap'
import type { JsonObject } from '../../lib/json/type-guards.ts'

t.test(
  'models and credentials of the database are decrypted, and their secrets stay out of the configuration',
  async t => {
    const { config, secrets, rows } = await importedTables()
    t.match(config, {
      models: { claude: { alias: /gpt-4o$/ }, 'by-credential': { alias: /gpt-4o$/ } },
      mcp_servers: { 'litellm/docs': { url: 'https://tools.example/mcp' } }
    })
    t.same([...secrets.values()].toSorted(), ['Bearer tools', 'sk-of-the-credential', 'sk-of-the-database'])
    t.notMatch(JSON.stringify([config, rows]), /sk-of|Bearer tools/)
    t.ok(rows.some(({ path }) => path === 'LiteLLM_ProxyModelTable[claude].litellm_params.api_key'))
    const closed = await importedTables(undefined, 'another key')
    t.match(notesOf(closed), {
      'LiteLLM_ProxyModelTable.litellm_params.api_key':
        /^manual: left out, as it is encrypted: set LITELLM_SALT_KEY/
    })
    t.equal(closed.secrets.size, 0)
  }
)

const { HEADGATE_TEST_LITELLM: python, HEADGATE_TEST_POSTGRES: server } = process.env
const skip =
  (python === undefined || server === undefined) &&
  'HEADGATE_TEST_LITELLM is no Python with litellm[proxy], or there is no HEADGATE_TEST_POSTGRES'

/** Functions of LiteLLM itself. */
function litellmFunctions (python: string): LitellmFunctions {
  const output = execFileSync(
    python,
    [join(import.meta.dirname, '../../../test/import/litellm-functions.py')],
    {
      input: JSON.stringify({ tokens: [...tokens, 'sk-alias', 'sk-deleted', litellmKey], secrets }),
      encoding: 'utf8',
      stdio: ['pipe', 'pipe', 'ignore'],
      env: {
        PATH: process.env['PATH'],
        LITELLM_SALT_KEY: saltKey,
        LITELLM_LOCAL_MODEL_COST_MAP: 'True',
        HOME: '/tmp'
      }
    }
  )
  const { hashed, encrypted, gcm } = JSON.parse(output.slice(output.lastIndexOf('\n{') + 1)) as Readonly<
    Record<string, Readonly<Record<string, string>>>
  >
  const of =
    (results: Readonly<Record<string, string>> | undefined) =>
    (text: string): string =>
      results?.[text] ?? t.fail(`no result for ${text}`).toString()
  return { hash: of(hashed), encrypt: of(encrypted), encryptGcm: of(gcm) }
}

/**
 * Creates a database with the tables of LiteLLM's migrations. Returns its address and a function that runs
 * statements there.
 */
async function litellmServer (t: Test, python: string, server: string) {
  const { Client } = await import('pg')
  const name = `litellm_${randomBytes(6).toString('hex')}`
  const admin = new Client(server)
  await admin.connect()
  await admin.query(`create database ${name}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  const folder = execFileSync(
    python,
    [
      '-c',
      'import importlib.util; print(importlib.util.find_spec("litellm_proxy_extras").submodule_search_locations[0])'
    ],
    { encoding: 'utf8' }
  ).trim()
  const steps = readdirSync(join(folder, 'migrations'), { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(({ name }) => name)
  const migrations = steps
    .toSorted()
    .map(step => readFileSync(join(folder, 'migrations', step, 'migration.sql'), 'utf8'))
  execFileSync('psql', ['--no-psqlrc', '--quiet', '--set', 'ON_ERROR_STOP=1', url.href], {
    input: migrations.join('\n'),
    stdio: ['pipe', 'ignore', 'pipe']
  })
  const client = new Client(url.href)
  await client.connect()
  t.teardown(async () => {
    await client.end()
    await admin.query(`drop database ${name} with (force)`)
    await admin.end()
  })
  return {
    url: url.href,
    query: async (sql: string, values: readonly unknown[] = []) =>
      (await client.query<JsonObject>(sql, [...values])).rows
  }
}

type Query = Awaited<ReturnType<typeof litellmServer>>['query']

async function fill (query: Query, tables: Readonly<Record<string, readonly JsonObject[]>>): Promise<void> {
  for (const [table, rows] of Object.entries(tables)) {
    for (const row of rows) {
      const columns = Object.keys(row)
        .map(column => `"${column}"`)
        .join(', ')
      await query(
        `insert into "${table}" (${columns}) select ${columns} from jsonb_populate_record(null::"${table}", $1)`,
        [JSON.stringify(row)]
      )
    }
  }
}

/** Returns the contents of all tables. */
async function contents (query: Query): Promise<string> {
  const found = await query("select tablename from pg_tables where schemaname = 'public' order by 1")
  const sums: unknown[] = []
  for (const { tablename } of found) {
    sums.push(
      await query(
        `select md5(coalesce(string_agg(found::text, ',' order by found::text), '')) as sum from "${String(tablename)}" as found`
      )
    )
  }
  return JSON.stringify(sums)
}

const completion = chatAnswer('Hello.', { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 })
const embedding = {
  object: 'list',
  model: 'text-embedding-3-small',
  data: [{ object: 'embedding', index: 0, embedding: [1, 2] }],
  usage: { prompt_tokens: 3, total_tokens: 3 }
}

t.test('a real LiteLLM is migrated while both gateways serve', { skip, timeout: 120_000 }, async t => {
  if (python === undefined || server === undefined) return
  const upstream = await fakeUpstream(({ path }) => ({
    pieces: [path.endsWith('/embeddings') ? JSON.stringify(embedding) : completion],
    headers: { 'content-type': 'application/json' }
  }))
  t.teardown(upstream.close)
  const provider = `${upstream.url}/v1`
  const directory = directoryOf(t, { 'config.yaml': litellmConfig(provider) })
  const { url, query } = await litellmServer(t, python, server)
  await fill(query, litellmTables(litellmFunctions(python), provider, Date.now()))
  const before = await contents(query)

  const env = { LITELLM_DATABASE: url, LITELLM_SALT_KEY: saltKey }
  const args = ['import', 'litellm', '--config', 'config.yaml', '--database', 'env:LITELLM_DATABASE']
  const plan = await headgate(t, args, directory, env)
  t.match(
    plan,
    {
      code: 1,
      out: /^[^]*unsupported +LiteLLM_VerificationToken\.aliases [^]*In the database: 19 keys, 4 projects, 3 users\.$/
    },
    plan.error
  )
  t.notMatch(plan.out, /sk-of|Bearer tools|no counterpart/)
  const applied = await headgate(t, [...args, '--apply'], directory, env)
  t.match(
    applied,
    {
      out: /Written: headgate\.yaml and headgate\.env\.[^]*Keys: 19 new, 0 changed, 0 revoked; 0 revoked here stay revoked\.$/
    },
    applied.error
  )
  t.notMatch(readFileSync(join(directory, 'headgate.yaml'), 'utf8'), /sk-|Bearer tools/)
  t.match(
    await headgate(t, [...args, '--apply'], directory, env),
    { out: /: 0 projects and 0 users are new\.\nKeys: 0 new, 0 changed, 0 revoked/ },
    'and again'
  )
  t.equal(await contents(query), before, 'LiteLLM is as it was')

  const variables = Object.fromEntries(
    [...readFileSync(join(directory, 'headgate.env'), 'utf8').matchAll(/^(\w+)='?(.*?)'?$/gm)].map(
      ([, name = '', value = '']) => [name, value]
    )
  )
  const history = await headgate(t, ['usage', '--by', 'model', '--since', '60d', '--json'], directory, {
    ...variables,
    PROVIDER_KEY: 'x'
  })
  t.match(
    history.out,
    /"model": "openai\/gpt-4o"[^}]*"calls": 8/,
    `days of its keys, once: ${history.error}`
  )
  const running: Running = launch(t, ['start'], directory, {
    ...variables,
    PROVIDER_KEY: 'sk-provider',
    PORT: '0'
  })
  const [, gateway = ''] = await running.line(/^Headgate listens on (\S+)$/)
  const call = async (key: string, model = 'gpt', path = '/chat/completions'): Promise<number> => {
    const body =
      path === '/embeddings' ? { model, input: 'a' } : { model, messages: [{ role: 'user', content: 'Hi' }] }
    const response = await fetch(gateway + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body)
    })
    await response.arrayBuffer()
    return response.status
  }
  const statuses = {
    'sk-plain': [200],
    'sk-before': [200],
    'sk-team': [200],
    'sk-team-other': [200],
    'sk-team-spent': [402],
    'sk-personal': [402],
    'sk-spent': [402],
    'sk-left': [200],
    'sk-total': [200],
    'sk-rate': [200, 429],
    'sk-blocked': [401],
    'sk-expired': [401],
    'sk-embeddings': [403],
    'sk-group': [403],
    'sk-windows': [402],
    'sk-shared-budget': [200],
    'sk-nothing': [401],
    'sk-admin': [401],
    'sk-page': [401],
    'sk-blocked-team': [401],
    'sk-unknown': [401]
  }
  for (const [key, wanted] of Object.entries(statuses)) {
    const got: number[] = []
    for (const _ of wanted) got.push(await call(key))
    t.same(got, wanted, key)
  }
  await until(
    async () => {
      const { out } = await headgate(t, ['usage', '--by', 'tag', '--json'], directory, {
        ...variables, PROVIDER_KEY: 'x'
      })
      return /"tag": "app"/.test(out) && /"tag": "research"/.test(out)
    },
    'tags of its key and its team'
  )
  t.equal(await call('sk-group', 'claude'), 200, 'a model of its group')
  t.equal(upstream.requests.at(-1)?.headers.authorization, 'Bearer sk-of-the-database')
  t.equal(await call('sk-plain', 'by-credential'), 200)
  t.equal(upstream.requests.at(-1)?.headers.authorization, 'Bearer sk-of-the-credential')
  t.equal(await call('sk-embeddings', 'embed', '/embeddings'), 200)
  t.same([await call('sk-wild', 'open/gpt-4o-mini'), await call('sk-wild', 'claude')], [200, 403])

  await query('update "LiteLLM_VerificationToken" set blocked = true where key_alias = $1', ['total'])
  await query('update "LiteLLM_VerificationToken" set spend = 4 where key_alias = $1', ['team-other'])
  await query('update "LiteLLM_VerificationToken" set spend = 0, max_budget = 9 where key_alias = $1', [
    'spent'
  ])
  await query('delete from "LiteLLM_VerificationToken" where key_alias = $1', ['shared-budget'])
  const again = await headgate(t, [...args, '--keep-config', '--apply'], directory, {
    ...env,
    ...variables,
    PROVIDER_KEY: 'x'
  })
  t.match(again, { out: /Keys: 0 new, 1 changed, 2 revoked; / }, again.error)
  await until(async () => (await call('sk-total')) === 401, 'the key that was blocked there')
  await until(async () => (await call('sk-shared-budget')) === 401, 'the key that was deleted there')
  await until(async () => (await call('sk-spent')) === 200, 'the budget that was raised there')
  await until(async () => (await call('sk-team-other')) === 402, 'what was spent there')
})

/** A shell that stays open across the code blocks of a page. */
async function pageShell (t: Test, cwd: string, env: Readonly<Record<string, string>>) {
  const child = spawn('sh', [], { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
  const exit = once(child, 'exit')
  let [out, errors] = ['', '']
  child.stdout.on('data', (bytes: Buffer) => { out += bytes.toString() })
  child.stderr.on('data', (bytes: Buffer) => { errors += bytes.toString() })
  t.teardown(async () => {
    // the gateway in the background belongs to the same process group
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    await exit
  })
  let blocks = 0
  /** Runs a code block, and returns its output and the status of its last command. */
  return async (block: string): Promise<{ out: string, status: number, errors: string }> => {
    const from = out.length
    const mark = `end of block ${++blocks}:`
    child.stdin.write(`${block}\necho "${mark} $?"\n`)
    const ended = new RegExp(`${mark} (\\d+)\\n`)
    const end = await eventually(
      async () => ended.exec(out), found => found !== null, block, 120_000
    )
    return { out: out.slice(from, end?.index), status: Number(end?.[1]), errors }
  }
}

t.test('each step of the run-book works beside a serving LiteLLM and can be undone', {
  skip, timeout: 500_000
}, async t => {
  if (python === undefined || server === undefined) return
  const upstream = await fakeUpstream({
    pieces: [completion], headers: { 'content-type': 'application/json' }
  })
  t.teardown(upstream.close)
  const provider = `${upstream.url}/v1`
  const directory = directoryOf(t, {
    'config.yaml': litellmConfig(provider),
    bin: { headgate: `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n` }
  })
  chmodSync(join(directory, 'bin/headgate'), 0o755)
  const { url, query } = await litellmServer(t, python, server)
  const functions = litellmFunctions(python)
  await fill(query, litellmTables(functions, provider, Date.now()))
  await fill(query, {
    LiteLLM_VerificationToken: [{
      token: functions.hash(litellmKey), key_alias: 'program', key_name: 'sk-...uess', spend: 0, models: []
    }]
  })
  const before = await contents(query)
  const litellm = await startLitellm(t, python, {
    model_list: [{
      model_name: 'gpt', litellm_params: { model: 'openai/gpt-4o', api_key: 'key', api_base: provider }
    }]
  })
  const port = await freePort()
  const here = (text: string): string =>
    text
      .replaceAll('http://127.0.0.1:8080', `http://127.0.0.1:${port}`)
      .replaceAll('http://127.0.0.1:4000', litellm.url)
      .replace('share: 0.1', 'share: 1')
      .replace(/^export LITELLM_DATABASE=.*$/m, `export LITELLM_DATABASE=${url} LITELLM_SALT_KEY=${saltKey}`)
  const page = readFileSync(join(import.meta.dirname, '../../../docs/from-litellm.md'), 'utf8')
  const [, steps = ''] = /\n## Moving in steps\n([^]*?)\n## /.exec(page) ?? []
  const blocks = [...steps.matchAll(/```(sh|yaml)\n([^]*?)```/g)].map(([, kind, text = '']) => ({
    kind, text: here(text)
  }))
  t.same(blocks.map(({ kind }) => kind), ['sh', 'sh', 'sh', 'yaml', 'sh', 'sh', 'sh'])
  const [look, fillIn, run, mirror, compare, switchOver, back] = blocks.map(({ text }) => text)
  const shell = await pageShell(t, directory, {
    PATH: `${directory}/bin:${process.env['PATH'] ?? ''}`, KEY: litellmKey, PORT: String(port)
  })

  const plan = await shell(look ?? '')
  t.match(plan, { status: 1, out: /In the database: 20 keys, 4 projects, 3 users\.\n$/ }, plan.errors)
  const filled = await shell(fillIn ?? '')
  t.match(filled, { status: 0, out: /Keys: 20 new[^]*Configuration OK/ }, filled.errors)

  const both = await shell(run ?? '')
  t.match(both, { status: 0, out: /Hello\.[^]*Hello\./ }, both.errors)

  const file = join(directory, 'headgate.yaml')
  const config = parse(readFileSync(file, 'utf8')) as Imported
  const added = parse(mirror ?? '') as Imported
  const { gpt, ...models } = config.models
  writeFileSync(file, JSON.stringify({
    ...config,
    models,
    providers: { ...config.providers, ...added.providers },
    routes: { ...config.routes, gpt: { ...added.routes?.['gpt'], models: [gpt?.alias] } }
  }))
  const mirrored = await eventually(
    async () => await shell(compare ?? ''),
    ({ out }) => /^litellm\/gpt +b +[1-9]/m.test(out),
    'calls that are mirrored to LiteLLM'
  )
  t.match(mirrored.out, /^127\S+\/gpt-4o +a +[1-9]\d* +0\.0 %/m, mirrored.errors)

  const moved = await shell(switchOver ?? '')
  t.match(moved, { status: 1, out: /Hello\.[^]*Keys: 0 new, 0 changed, 0 revoked/ }, moved.errors)
  const returned = await shell(back ?? '')
  t.match(returned, { status: 0, out: /Hello\.[^]*\nprogram +[1-9]/ }, returned.errors)
  t.equal(await contents(query), before, 'LiteLLM is as it was')
})

interface Imported {
  readonly models: Readonly<Record<string, { readonly alias: string }>>
  readonly providers: object
  readonly routes?: Readonly<Record<string, object>>
}
