import { join } from 'node:path'
import t from 'tap'
import { wavOf } from '../support/forms.ts'
import { directoryOf, launch, main } from '../support/headgate.ts'
import { client, identityProvider } from '../support/identity-provider.ts'
import { textPdf } from '../support/pdf.ts'
import { shortRun } from '../support/rounds.ts'
import { startToolServer } from '../support/tool-server.ts'

const modules = join(import.meta.dirname, '../../lib/main.js')
const key = 'a-key-of-twenty-characters'
const env = { PORT: '0', HEADGATE_API_KEYS: key }

t.test('the bundle and the modules answer alike', { skip: shortRun }, async t => {
  const tools = await startToolServer(t)
  const { issuer } = await identityProvider(t)
  const file =
    `providers: {sandbox: {options: {words_per_second: 0}}}\nmcp_servers: {test/tools: {url: '${tools.url}'}}\n` +
    `accounts: {oidc: {issuer: '${issuer}', client_id: '${client.id}', client_secret: 'env:OIDC_SECRET'}}\n`
  const answers = async (entry: string): Promise<readonly Answer[]> => {
    const directory = directoryOf(t, { 'headgate.yaml': file })
    const running = launch(t, ['start'], directory, { ...env, OIDC_SECRET: client.secret }, [entry])
    const [, url = ''] = await running.line(/^Headgate listens on (\S+)$/)
    const found: Answer[] = []
    const byName = url.replace('127.0.0.1', 'localhost') // passkeys need a name
    for (const request of requests()) found.push(await answerOf(byName, request))
    running.child.kill('SIGTERM')
    t.same((await running.ended).code, 0)
    return found
  }
  const [bundled, plain] = [await answers(main), await answers(modules)]
  t.same(bundled.map(({ status }) => status), requests().map(({ status }) => status))
  t.same(bundled, plain)
  t.equal(bundled.find(({ path }) => path.endsWith('/oidc'))?.location, `${issuer}/auth`)
})

interface TestRequest {
  readonly path: string
  readonly status: number
  readonly body?: object | FormData
}

/** One request for each thing that is loaded later, or in its own thread. */
function requests (): readonly TestRequest[] {
  const messages = [{ role: 'user', content: 'Hello' }]
  const form = new FormData()
  form.set('model', 'sandbox/listener')
  form.set('file', new Blob([wavOf(1)]), 'a.wav')
  const pdf = `data:application/pdf;base64,${textPdf([['hello']]).toString('base64')}`
  return [
    { path: '/v1/chat/completions', status: 200, body: { model: 'sandbox/echo', messages } },
    {
      path: '/v1/chat/completions',
      status: 200,
      body: { model: 'sandbox/story', messages, stream: true, max_tokens: 20 }
    },
    {
      path: '/v1/chat/completions',
      status: 200,
      body: {
        model: 'sandbox/echo',
        messages: 'Call echo with {"message":"hi"}',
        mcp_servers: ['test/tools']
      }
    },
    {
      path: '/v1/chat/completions',
      status: 422,
      body: { model: 'sandbox/echo', messages: [{ role: 'bot' }], n: 'x' }
    },
    { path: '/v1/chat/completions', status: 404, body: { model: 'sandbox/none', messages } },
    { path: '/v1/embeddings', status: 200, body: { model: 'sandbox/embedding', input: 'a' } },
    // counted in a thread
    { path: '/v1/embeddings', status: 400, body: { model: 'sandbox/embedding', input: 'b'.repeat(40_000) } },
    {
      path: '/v1/ocr',
      status: 200,
      body: { model: 'sandbox/reader', document: { type: 'document_url', document_url: pdf } }
    },
    { path: '/v1/audio/transcriptions', status: 200, body: form },
    { path: '/v1/models', status: 200 },
    { path: '/openapi.json', status: 200 },
    { path: '/admin/v1/sign-in/passkey/options', status: 200, body: {} },
    { path: '/admin/v1/sign-in/oidc', status: 303 },
    { path: '/none', status: 404 }
  ]
}

interface Answer {
  readonly path: string
  readonly status: number
  readonly headers: readonly string[]
  /** Responses without what differs from call to call. */
  readonly location: string | undefined
  readonly body: string
}

/** Removes what differs from call to call: ids and times. */
async function answerOf (url: string, { path, body }: Omit<TestRequest, 'status'>): Promise<Answer> {
  const response = await fetch(url + path, {
    redirect: 'manual',
    headers: {
      authorization: `Bearer ${key}`,
      ...body !== undefined && !(body instanceof FormData) && { 'content-type': 'application/json' }
    },
    ...body !== undefined && {
      method: 'POST',
      body: body instanceof FormData ? body : JSON.stringify(body)
    }
  })
  const text = (await response.text())
    .replace(/[0-9a-f]{32}/g, 'ID')
    .replace(/"created":\d+/g, '"created":0')
    .replaceAll(url, '')
  const location = response.headers.get('location')?.split('?')[0]
  return {
    path,
    status: response.status,
    headers: [...response.headers.keys()],
    location,
    body: text.replace(/"duration_ms":\d+|"challenge(_id)?":"[^"]+"/g, '')
  }
}

/** Packages and modules that the first chat call must not wait for. */
const notAtStart = [
  'ajv', 'file-type', 'gpt-tokenizer', 'koa-body', 'openid-client', 'pg', 'sharp', 'undici', 'unpdf', 'yaml',
  '@modelcontextprotocol/client'
].map(name => new RegExp(`/node_modules/${name}/`)).concat([
  /editor-schema/, /\/cli\/(?!run|start|command)/,
  // Later Node.js versions load their own copy of it with `node:http`, which exports its WebSocket.
  ...Number(process.versions.node.split('.')[0]) < 22 ? [/NativeModule internal\/deps\/undici/] : []
])

for (const [name, entry, most] of [['bundle', main, 7], ['modules', modules, 1_750]] as const) {
  t.test(`a start from the ${name} loads exactly what the first chat call needs`, async t => {
    const running = launch(t, ['start'], directoryOf(t), env, listing(entry))
    const [, url = ''] = await running.line(/^Headgate listens on (\S+)$/)
    const { status } = await answerOf(url, {
      path: '/v1/chat/completions',
      body: { model: 'sandbox/echo', messages: 'Hello' }
    })
    t.equal(status, 200)
    const loaded = await loadedScripts(running)
    const files = loaded.filter(url => url.startsWith('file:'))
    t.ok(files.length <= most, `${files.length} files`)
    t.ok(loaded.some(url => url.includes('node_modules/@photostructure/sqlite')), 'the list is one')
    for (const pattern of notAtStart) t.same(loaded.filter(url => pattern.test(url)), [], String(pattern))
  })
}

t.test(
  'with tool servers configured, their client is loaded after startup, before a call needs it',
  async t => {
    const directory = directoryOf(t, {
      'headgate.yaml': 'mcp_servers: {test/tools: {url: "http://127.0.0.1:9/mcp"}}'
    })
    const running = launch(t, ['start'], directory, env, listing(main))
    await running.line(/^Headgate listens on (\S+)$/)
    const asking = setInterval(() => running.child.kill('SIGUSR2'), 100)
    t.teardown(() => clearInterval(asking))
    t.ok(
      await running.line(
        /^loaded .*\/node_modules\/undici\/index\.js.*\/node_modules\/@modelcontextprotocol\/client\//
      )
    )
  }
)

/** Arguments of Node.js for a gateway that lists its loaded modules on SIGUSR2. */
function listing (entry: string): string[] {
  return ['--import', join(import.meta.dirname, '../support/list-scripts.js'), entry]
}

async function loadedScripts (running: ReturnType<typeof launch>): Promise<readonly string[]> {
  running.child.kill('SIGUSR2')
  const [, loaded = ''] = await running.line(/^loaded (.*)$/)
  return JSON.parse(loaded) as readonly string[]
}
