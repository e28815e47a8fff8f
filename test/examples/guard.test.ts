import t from 'tap'
import { join } from 'node:path'
import { loadSettings } from '../../lib/config/read-settings.ts'
import { createGateway } from '../../lib/gateway.ts'
import { createLog } from '../../lib/log/log.ts'

const card = 'My card is 4111 1111 1111 1111.'
const user = [{ role: 'user', content: card }]

/** Each endpoint with prompts, and bodies that contain a card number. */
const prompts: ReadonlyArray<readonly [path: string, ...bodies: object[]]> = [
  [
    '/v1/chat/completions',
    { messages: card },
    { input: 'Pay with 4111-1111-1111-1111' },
    { messages: 'Hello', system: card }
  ],
  ['/v1/completions', { prompt: card }, { prompt: 'Hello', suffix: card }],
  ['/v1/messages', { messages: user, max_tokens: 9 }],
  ['/v1/messages/count_tokens', { messages: user }],
  [
    '/v1/responses',
    { input: card },
    {
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: card },
            { type: 'input_file', file_url: 'https://files.example/a.pdf' }
          ]
        }
      ]
    }
  ],
  ['/v1/responses/input_tokens', { input: card }],
  ['/v1/responses/compact', { input: user }]
]

t.test(
  'a guard refuses a call before a provider is called, on each endpoint with prompts, and not on others',
  async t => {
    const directory = join(import.meta.dirname, '../../examples')
    const settings = loadSettings({
      env: { PORT: '0', HOST: '127.0.0.1' },
      cwd: directory,
      config: { stages: [{ name: 'cards', use: './guard.js' }] }
    })
    const keys = {
      check: (presented: string) => (presented === 'secret' ? { id: '1', name: 'me' } : undefined)
    }
    const gateway = await createGateway(settings, { keys, log: createLog('silent') })
    t.teardown(async () => await gateway.close())
    const { host, port } = await gateway.listen()
    const url = `http://${host}:${port}`
    const ask = async (path: string, body: object, key = 'secret'): Promise<Response> =>
      await fetch(url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'sandbox/echo', ...body })
      })
    for (const [path, ...bodies] of prompts) {
      for (const body of bodies) {
        const refused = await ask(path, body)
        t.equal(refused.status, 400, path)
        t.match(
          await refused.json(),
          { error: { message: 'The guard `cards` refused this call: it contains a card number.' } },
          path
        )
      }
      t.equal((await ask(path, bodies[0] ?? {}, 'wrong')).status, 401)
    }
    t.same(await (await ask('/v1/chat/completions', { messages: card })).json(), {
      error: {
        message: 'The guard `cards` refused this call: it contains a card number.',
        type: 'invalid_request_error',
        code: 'content_refused',
        param: null
      }
    })
    const passed = await ask('/v1/chat/completions', { messages: 'My number is 4111.' })
    t.equal(passed.status, 200)
    t.match(await passed.json(), { choices: [{ message: { content: /4111/ } }] })
    const completed = await ask('/v1/completions', { prompt: 'My number is 4111.' })
    t.equal(completed.status, 200)
    t.match(await completed.json(), { choices: [{ text: /My number/ }] })
  }
)
