/** Encrypted reasoning returns to the account that created it, and to no other. */

import t from 'tap'
import { testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import {
  chatAnswer, eventStream, fakeUpstream, type FakeUpstream, type Script
} from '../support/upstream.ts'
import { packReasoning } from '../../lib/dialects/responses/reasoning-state.ts'
import { Secret } from '../../lib/core/secret.ts'
import type { Settings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

interface Turn { readonly account: string, readonly reads: readonly string[] }

interface Provider {
  readonly upstream: FakeUpstream
  /** The answered turns by account, with the reasoning in each request. */
  readonly turns: Turn[]
  /** Accounts that no longer answer. */
  readonly limited: Set<string>
}

/** A provider whose accounts refuse each other's reasoning. */
async function accounts (t: Test): Promise<Provider> {
  const turns: Turn[] = []
  const limited = new Set<string>()
  const upstream = await fakeUpstream(({ headers, json }): Script => {
    const account = String(headers.authorization).replace('Bearer ', '')
    if (limited.has(account)) return { status: 429, headers: { 'retry-after': '30' }, pieces: ['{}'] }
    const { input, stream = false } = json as { input: unknown, stream?: boolean }
    const items = Array.isArray(input) ? input as Array<{ encrypted_content?: string }> : []
    const reads = items.flatMap(item => item.encrypted_content ?? [])
    if (reads.some(content => content !== `gAAA.${account}`)) {
      return {
        status: 400,
        pieces: [
          JSON.stringify({
            error: {
              message: 'The encrypted content could not be verified.',
              code: 'invalid_encrypted_content'
            }
          })
        ]
      }
    }
    turns.push({ account, reads })
    return stream
      ? { headers: eventStream, pieces: streamed(account) }
      : { pieces: [JSON.stringify(response(account))] }
  })
  t.teardown(upstream.close)
  return { upstream, turns, limited }
}

function output (account: string): object[] {
  return [
    {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'Hm.' }],
      encrypted_content: `gAAA.${account}`
    },
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'ok', annotations: [] }]
    }
  ]
}

function response (account: string): object {
  const usage = { input_tokens: 5, output_tokens: 5, total_tokens: 10 }
  return {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'gpt-5',
    output: output(account),
    usage
  }
}

function streamed (account: string): string[] {
  const events = [
    { type: 'response.created', response: { ...response(account), status: 'in_progress', output: [] } },
    ...output(account).flatMap((item, index) => [
      { type: 'response.output_item.added', output_index: index, item: { ...item, content: [] } },
      { type: 'response.output_item.done', output_index: index, item }
    ]),
    { type: 'response.completed', response: response(account) }
  ]
  return events.map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
}

/** Two accounts, as providers of one route or as keys of one provider. */
const setups: Record<string, (url: string) => Partial<Settings>> = {
  'two providers': url => ({
    providers: ['key-a', 'key-b'].map(key => upstreamAt(url, key, 'openai', { apiKey: new Secret(key) })),
    routes: [
      { name: 'shared', models: ['key-a/gpt-5', 'key-b/gpt-5'], strategy: 'weighted', affinity: false }
    ],
    models: ['key-a', 'key-b'].map(id => ({
      id: `${id}/gpt-5`,
      hidden: false,
      traits: { responsesOnly: true }
    }))
  }),
  'two keys': url => ({
    providers: [
      upstreamAt(url, 'openai', 'openai', {
        apiKeys: ['key-a', 'key-b'].map(key => ({ key: new Secret(key), weight: 1 }))
      })
    ],
    models: [
      { id: 'openai/gpt-5', hidden: false, traits: { responsesOnly: true } },
      { id: 'shared', hidden: false, alias: 'openai/gpt-5' }
    ]
  })
}

interface Answer {
  readonly output?: object[]
  readonly content?: object[]
  readonly choices?: Array<{ message: object }>
}

/** The first request of a conversation, and the one that continues with an answer. */
interface Dialect {
  readonly first: object
  readonly next: (answer: Answer) => object
}

const user = { role: 'user', content: 'hi' }
const dialects: Record<string, Dialect> = {
  '/v1/responses': {
    first: { model: 'shared', store: false, input: [user] },
    next: ({ output = [] }) => ({ model: 'shared', store: false, input: [user, ...output, user] })
  },
  '/v1/messages': {
    first: { model: 'shared', max_tokens: 100, messages: [user] },
    next: ({ content = [] }) => ({
      model: 'shared',
      max_tokens: 100,
      messages: [user, { role: 'assistant', content }, user]
    })
  },
  '/v1/chat/completions': {
    first: { model: 'shared', messages: [user] },
    next: ({ choices = [] }) => ({ model: 'shared', messages: [user, choices[0]?.message, user] })
  }
}

let sessions = 0

/** Each call has its own session: only its reasoning says where it belongs. */
async function ask (
  api: TestGateway,
  path: string,
  body: object,
  ignored: string | null = null
): Promise<Answer> {
  const answer = await api.post(path, body, { headers: { 'x-session-id': `session ${++sessions}` } })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${answer.status} ${text}`)
  t.equal(answer.headers.get('x-headgate-ignored'), ignored)
  const done = /^event: response\.completed\ndata: (.*)$/m.exec(text)?.[1]
  return done === undefined ? JSON.parse(text) as Answer : (JSON.parse(done) as { response: Answer }).response
}

for (const [name, setup] of Object.entries(setups)) {
  for (const [path, { first, next }] of Object.entries(dialects)) {
    t.test(`with ${name}, each second turn over ${path} goes to the account of the first`, async t => {
      const { upstream, turns } = await accounts(t)
      const api = await testGateway(t, setup(`${upstream.url}/v1`))
      for (let conversation = 0; conversation < 12; conversation++) {
        const answer = await ask(api, path, first)
        await ask(api, path, next(answer))
        const [one, two] = turns.splice(0)
        t.same(two, { account: one?.account, reads: [`gAAA.${one?.account}`] })
      }
    })

    t.test(
      `with ${name}, another account gets a turn over ${path} without the reasoning that it cannot read`,
      async t => {
        const { upstream, turns, limited } = await accounts(t)
        const api = await testGateway(t, setup(`${upstream.url}/v1`))
        const answer = await ask(api, path, first)
        const [one] = turns.splice(0)
        limited.add(one?.account ?? '')
        // the second failure pauses the account
        for (let turn = 0; turn < 2; turn++) await ask(api, path, next(answer), 'encrypted_content')
        const other = one?.account === 'key-a' ? 'key-b' : 'key-a'
        t.same(turns, [
          { account: other, reads: [] },
          { account: other, reads: [] }
        ])
      }
    )
  }

  t.test(`with ${name}, streams carry the account too`, async t => {
    const { upstream, turns } = await accounts(t)
    const api = await testGateway(t, setup(`${upstream.url}/v1`))
    for (let conversation = 0; conversation < 12; conversation++) {
      const answer = await ask(api, '/v1/responses', { ...dialects['/v1/responses']?.first, stream: true })
      await ask(api, '/v1/responses', dialects['/v1/responses']?.next(answer) ?? {})
      const [one, two] = turns.splice(0)
      t.same(two, { account: one?.account, reads: [`gAAA.${one?.account}`] })
    }
  })
}

t.test(
  'reasoning of an account whose key was replaced is dropped, and the answer says so',
  async t => {
    const { upstream, turns } = await accounts(t)
    const gatewayWith = async (...keys: readonly string[]): Promise<TestGateway> =>
      await testGateway(t, {
        providers: [
          upstreamAt(`${upstream.url}/v1`, 'openai', 'openai', {
            apiKeys: keys.map(key => ({ key: new Secret(key), weight: 1 }))
          })
        ],
        models: [
          { id: 'openai/gpt-5', hidden: false, traits: { responsesOnly: true } },
          { id: 'shared', hidden: false, alias: 'openai/gpt-5' }
        ]
      })
    const before = await gatewayWith('key-a', 'key-b')
    const after = await gatewayWith('key-c', 'key-d')
    for (const [path, { first, next }] of Object.entries(dialects)) {
      await ask(after, path, next(await ask(before, path, first)), 'encrypted_content')
      t.match(turns.splice(0)[1], { account: /^key-[cd]$/, reads: [] }, path)
    }
  }
)

/** Starts a gateway with these keys of one provider, or with a single one. */
async function gatewayOf (t: Test, { upstream }: Provider, ...keys: readonly string[]): Promise<TestGateway> {
  const [key = ''] = keys
  return await testGateway(t, {
    providers: [
      upstreamAt(`${upstream.url}/v1`, 'openai', 'openai', keys.length === 1
        ? { apiKey: new Secret(key) }
        : { apiKeys: keys.map(each => ({ key: new Secret(each), weight: 1 })) })
    ],
    models: [
      { id: 'openai/gpt-5', hidden: false, traits: { responsesOnly: true } },
      { id: 'shared', hidden: false, alias: 'openai/gpt-5' }
    ]
  })
}

for (const [path, { first, next }] of Object.entries(dialects)) {
  t.test(`the only remaining account reads its own reasoning over ${path}, and reports what it cannot read`, async t => {
    const provider = await accounts(t)
    const { turns, limited } = provider
    const before = await gatewayOf(t, provider, 'key-a', 'key-b')
    const after = await gatewayOf(t, provider, 'key-a')
    for (const [maker, silent] of [['key-a', 'key-b'], ['key-b', 'key-a']] as const) {
      limited.clear()
      limited.add(silent)
      const body = next(await ask(before, path, first))
      limited.clear()
      const isRead = maker === 'key-a'
      const ignored = isRead ? null : 'encrypted_content'
      const dry = await after.post(path, body, { headers: { 'x-headgate-dry-run': 'true' } })
      t.match(await dry.json(), { candidates: [{ model: 'openai/gpt-5' }] })
      t.equal(dry.headers.get('x-headgate-ignored'), ignored, 'a dry run says so')
      await ask(after, path, body, ignored)
      t.same(turns.splice(0).at(-1), { account: 'key-a', reads: isRead ? ['gAAA.key-a'] : [] })
      const line = after.lines.findLast(({ msg, dry_run: dry }) => msg === 'call' && dry !== true)
      t.same(line?.['ignored'], isRead ? undefined : ['encrypted_content'], 'and the log')
    }
  })

  t.test(`reasoning over ${path} is not sent to another provider after a change of model, and the answer says so`, async t => {
    const provider = await accounts(t)
    const other = await fakeUpstream({ pieces: [chatAnswer('ok')] })
    t.teardown(other.close)
    const one = await gatewayOf(t, provider, 'key-a')
    const changed = await testGateway(t, {
      providers: [upstreamAt(`${other.url}/v1`, 'mistral', 'mistral')],
      models: [{ id: 'shared', hidden: false, alias: 'mistral/m' }, { id: 'mistral/m', hidden: false }]
    })
    const answer = await ask(one, path, first)
    await ask(changed, path, next(answer), 'encrypted_content')
    t.notMatch(other.requests[0]?.text, 'gAAA')
    await ask(one, path, next(answer))
    t.same(provider.turns.at(-1)?.reads, ['gAAA.key-a'], 'its own provider gets it back')
  })
}

const signature = 'EqQBCkgIBRABGAIiQL8'
const thinking = { type: 'thinking', thinking: 'Hm.', signature }
const signedTurns: Record<string, object> = {
  '/v1/messages': {
    model: 'shared',
    max_tokens: 100,
    messages: [user, { role: 'assistant', content: [thinking, { type: 'text', text: 'ok' }] }, user]
  },
  '/v1/chat/completions': {
    model: 'shared',
    messages: [user, { role: 'assistant', content: 'ok', thinking_blocks: [thinking] }, user]
  },
  '/v1/responses': {
    model: 'shared',
    store: false,
    input: [
      user,
      {
        type: 'reasoning',
        id: 'rs_1',
        summary: [],
        encrypted_content: packReasoning({
          model: 'anthropic/m',
          blocks: [{ type: 'thinking', thinking: 'Hm.', signature }]
        })
      },
      { role: 'assistant', content: 'ok' },
      user
    ]
  }
}

for (const [path, body] of Object.entries(signedTurns)) {
  t.test(`signed thinking over ${path} is sent only to Anthropic, and other answers say so`, async t => {
    const content = [{ type: 'text', text: 'ok' }]
    const usage = { input_tokens: 1, output_tokens: 1 }
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn' }
    const anthropic = await fakeUpstream({ pieces: [JSON.stringify({ ...message, content, usage })] })
    const mistral = await fakeUpstream({ pieces: [chatAnswer('ok')] })
    t.teardown(async () => await Promise.all([anthropic.close(), mistral.close()]))
    for (const [kind, upstream, ignored] of [
      ['anthropic', anthropic, null],
      ['mistral', mistral, 'signature']
    ] as const) {
      const api = await testGateway(t, {
        providers: [upstreamAt(kind === 'mistral' ? `${upstream.url}/v1` : upstream.url, kind, kind)],
        models: [{ id: 'shared', hidden: false, alias: `${kind}/m` }, { id: `${kind}/m`, hidden: false }]
      })
      await ask(api, path, body, ignored)
      t.equal(upstream.requests[0]?.text.includes(signature), kind === 'anthropic', kind)
    }
  })
}

t.test('with one account, reasoning passes unchanged', async t => {
  const { upstream, turns } = await accounts(t)
  const api = await testGateway(t, {
    providers: [upstreamAt(`${upstream.url}/v1`, 'openai', 'openai', { apiKey: new Secret('key-a') })]
  })
  const answer = await ask(api, '/v1/responses', { model: 'openai/gpt-5', store: false, input: 'hi' })
  t.match(answer.output?.[0], { encrypted_content: 'gAAA.key-a' })
  await ask(api, '/v1/responses', {
    model: 'openai/gpt-5',
    store: false,
    input: [user, ...(answer.output ?? []), user]
  })
  t.same(turns[1]?.reads, ['gAAA.key-a'])
})
