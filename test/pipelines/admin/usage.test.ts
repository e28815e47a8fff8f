/** Usage and calls, as the dashboard reads them. */

import t from 'tap'
import { adminGateway, type AdminGateway, type Person } from '../../support/admin.ts'
import { usageRowOf } from '../../support/usage.ts'
import { eventually } from '../../support/until.ts'
import { callHandlers } from '../../../pipelines/admin/calls.ts'
import type { UsageGroup } from '../../../schemas/admin/usage.ts'
import { rowId } from '../../../lib/text/ids.ts'
import { Secret } from '../../../lib/core/secret.ts'
import { providerSettings } from '../../support/settings.ts'
import { callNumbers, type LiveCalls } from '../../../schemas/admin/calls.ts'
import type { ProviderHealth } from '../../../schemas/admin/resources.ts'
import type { AttemptStep } from '../../../lib/usage/call-steps.ts'
import type { UsageRow } from '../../../lib/stores/tables.ts'

const hour = 3_600_000
const now = Math.floor(Date.now() / hour) * hour

async function record ({ database }: AdminGateway, rows: ReadonlyArray<Partial<UsageRow>>): Promise<void> {
  await database.insertUsage(
    rows.map((row, index) =>
      usageRowOf(index, {
        key_id: 'key_a',
        model: 'a/1',
        provider: 'a',
        endpoint: 'chat',
        outcome: 'ok',
        status: 200,
        prompt_tokens: 10,
        completion_tokens: 5,
        cost_nano_usd: 1e9,
        duration_ms: 100,
        first_byte_ms: 50,
        ...row
      })
    )
  )
}

t.test('totals, series and groups add up', async t => {
  const place = await adminGateway(t)
  await record(place, [
    ...Array.from({ length: 100 }, (_, index) => ({
      at_ms: now - hour,
      duration_ms: 10 * (index + 1),
      first_byte_ms: 2000
    })),
    {
      at_ms: now - 2 * hour,
      model: 'b/1',
      provider: 'b',
      outcome: 'error',
      status: 500,
      cost_nano_usd: null,
      estimated: 1
    },
    { at_ms: now - 30 * hour, cost_nano_usd: 5e8 }
  ])
  const { send } = await place.user('owner')
  const query = `from_ms=${now - 3 * hour}&until_ms=${now}`
  const { body } = await send(`GET /admin/v1/usage?${query}&group_by=model&compare=true`)
  t.same(body.at_ms, [now - 3 * hour, now - 2 * hour, now - hour])
  t.match(body.totals, {
    calls: 101,
    errors: 1,
    prompt_tokens: 1010,
    completion_tokens: 505,
    cost_usd: 100,
    unpriced_calls: 1
  })
  t.match(body.totals.latency_ms, { p50: 525, p95: 975, p99: 975 })
  t.match(body.totals.first_byte_ms, { p50: 2100 })
  t.same(body.series.calls, [0, 1, 100])
  t.same(body.series.errors, [0, 1, 0])
  t.same(body.series.unpriced_calls, [0, 1, 0])
  t.same(body.series.latency_p50_ms, [null, null, 525])
  t.same(
    body.groups.map(({ id, totals }: { id: string, totals: { calls: number } }) => [id, totals.calls]),
    [
      ['a/1', 100],
      ['b/1', 1]
    ]
  )
  t.equal(body.previous.totals.calls, 0)
  const days = (
    await send(`GET /admin/v1/usage?from_ms=${now - 48 * hour}&until_ms=${now}&bucket=day&provider=a`)
  ).body
  t.equal(
    days.series.calls.reduce((sum: number, calls: number) => sum + calls),
    101
  )
  const csv = (await send(`GET /admin/v1/usage.csv?${query}&group_by=model`)).body.split('\r\n')
  t.equal(
    csv[0],
    'time,model,model_name,calls,errors,prompt_tokens,completion_tokens,cost_usd,estimated_calls,unpriced_calls,latency_p50_ms,latency_p95_ms,latency_p99_ms,first_byte_p50_ms,first_byte_p95_ms'
  )
  t.equal(csv.length, 1 + 2 * 3 + 1)
})

t.test('up to two hours are shown by minute', async t => {
  const place = await adminGateway(t)
  await record(place, [
    { at_ms: now - 119 * 60_000 },
    { at_ms: now - 60_000 },
    { at_ms: now - 59_000, prompt_tokens: 7 }
  ])
  const { send } = await place.user('owner')
  const { body } = await send(`GET /admin/v1/usage?from_ms=${now - 2 * hour}&until_ms=${now}&group_by=model`)
  t.equal(body.bucket, 'minute')
  t.same([body.at_ms.length, body.at_ms[0]], [120, now - 2 * hour])
  t.same(
    body.series.calls.flatMap((calls: number, index: number) => (calls === 0 ? [] : [[index, calls]])),
    [
      [1, 1],
      [119, 2]
    ]
  )
  t.equal(body.groups[0].series.prompt_tokens[119], 17)
  t.match((await send(`GET /admin/v1/usage?from_ms=${now - 3 * hour}&until_ms=${now}`)).body, {
    bucket: 'hour'
  })
  const refused = await send(`GET /admin/v1/usage?from_ms=${now - 3 * hour}&until_ms=${now}&bucket=minute`)
  t.match([refused.status, refused.body.error], [400, { param: 'bucket', message: /2 hours/ }])
})

t.test(
  "a provider is counted the requests sent to it and its failures, not callers' mistakes",
  async t => {
    const place = await adminGateway(t, {
      providers: [providerSettings('bad', 'vllm'), providerSettings('good', 'vllm')]
    })
    const at = (provider: string, reason?: string): AttemptStep => ({
      model: `${provider}/m`,
      provider,
      at_ms: 1,
      took_ms: 2,
      ...reason !== undefined && { reason }
    })
    const atMs = Date.now() - 60_000
    const row = (
      requests: readonly AttemptStep[] | undefined,
      parts: Partial<UsageRow> = {}
    ): Partial<UsageRow> => ({
      at_ms: atMs,
      provider: 'good',
      attempts: requests?.length ?? 1,
      steps: requests === undefined ? null : JSON.stringify({ requests }),
      ...parts
    })
    await record(place, [
      row(undefined),
      row([at('bad', 'upstream_error'), at('bad', 'upstream_timeout'), at('good')]),
      row([at('bad')], { provider: 'bad' }),
      row([at('bad', 'upstream_invalid_request')], { provider: 'bad', outcome: 'error' }),
      row([at('bad', 'model_not_found')], { provider: 'bad', outcome: 'error' }),
      row([at('good', 'slower'), at('bad')], { provider: 'bad' }),
      row([at('good', 'invalid_provider_key')], { outcome: 'error' }),
      row([], { attempts: 0 }),
      row([at('good', 'rate_limit_exceeded')], { outcome: 'error' }),
      row([at('bad', 'upstream_error')], { at_ms: atMs - hour, provider: 'bad' }),
      row([at('bad', 'upstream_error')], { endpoint: 'mirror', key_id: 'mirror' })
    ])
    const { data } = (await (await place.user('owner')).send('GET /admin/v1/providers')).body
    t.same(
      data.map(({ id, last_hour: { attempts, failed_attempts: failed } }: ProviderHealth) => [
        id,
        attempts,
        failed
      ]),
      [
        ['bad', 6, 2],
        ['good', 5, 1]
      ]
    )
  }
)

t.test('an exported table cannot run formulas in a spreadsheet', async t => {
  const place = await adminGateway(t)
  await record(place, [{ at_ms: now - hour, model: '=HYPERLINK("http://evil")' }])
  const { body } = await (
    await place.user('owner')
  ).send(`GET /admin/v1/usage.csv?from_ms=${now - hour}&until_ms=${now}&group_by=model`)
  t.match(body, `,"'=HYPERLINK(""http://evil"")",`)
})

t.test(
  'a call is found by its record id, whatever request ids callers choose, or as the newest of a request id',
  async t => {
    const place = await adminGateway(t)
    const id = rowId()
    await record(place, [
      { id, at_ms: now - 3 * hour, call_id: 'first' },
      { at_ms: now - 2 * hour, call_id: id },
      { at_ms: now - hour, call_id: id, prompt_tokens: 3 },
      { id: 'of another origin', at_ms: now - 4 * hour, call_id: 'second' }
    ])
    const { send } = await place.user('owner')
    t.match((await send(`GET /admin/v1/calls/${id}`)).body, { id, request_id: 'first' })
    t.match((await send(`GET /admin/v1/calls/${id}?at_ms=${now - hour}`)).body, {
      request_id: id,
      prompt_tokens: 3
    })
    await place.database.query.deleteFrom('usage').where('id', '=', id).execute()
    t.match((await send(`GET /admin/v1/calls/${id}`)).body, { request_id: id, prompt_tokens: 3 })
    t.match((await send('GET /admin/v1/calls/of%20another%20origin')).body, { request_id: 'second' })
  }
)

t.test('members and viewers see only their projects', async t => {
  const place = await adminGateway(t)
  const owner = await place.user('owner')
  const projects = await Promise.all(
    ['mine', 'theirs'].map(
      async name => (await owner.send('POST /admin/v1/projects', { name })).body.id as string
    )
  )
  const keys = await Promise.all(
    projects.map(
      async (id, index) =>
        (await owner.send('POST /admin/v1/keys', { name: `<b>key ${index}</b>`, project_id: id })).body.key
          .id as string
    )
  )
  await record(place, [
    { at_ms: now - hour, key_id: keys[0] ?? '', call_id: 'one' },
    { at_ms: now - hour, key_id: keys[1] ?? '', call_id: 'two' },
    { at_ms: now - hour, key_id: 'configured:site', call_id: 'three' }
  ])
  const query = `from_ms=${now - hour}&until_ms=${now}`
  const grouped = (await owner.send(`GET /admin/v1/usage?${query}&group_by=project`)).body
  t.same(grouped.groups.map(({ name }: { name: string }) => name).toSorted(), ['Default', 'mine', 'theirs'])
  const [member, viewer] = [
    await place.user('member', projects.slice(0, 1)),
    await place.user('viewer', projects.slice(0, 1))
  ]
  for (const { send } of [member, viewer]) {
    for (const filter of ['', `&project=${projects[1]},${projects[0]}`]) {
      t.equal((await send(`GET /admin/v1/usage?${query}${filter}`)).body.totals.calls, 1)
    }
    t.equal((await send(`GET /admin/v1/usage?${query}&project=${projects[1]}`)).body.totals.calls, 0)
  }
  t.match((await member.send('GET /admin/v1/calls')).body.data, [
    { request_id: 'one', key_name: '<b>key 0</b>', project_id: projects[0] }
  ])
  t.equal((await member.send('GET /admin/v1/calls/two')).status, 404)
  t.equal((await member.send(`GET /admin/v1/calls/one?at_ms=${now - hour}`)).status, 200)
  t.equal((await member.send(`GET /admin/v1/calls/one?at_ms=${now}`)).status, 404)
  t.match((await member.send('GET /admin/v1/calls/one')).body, {
    request_id: 'one',
    timeline: [
      { event: 'received' },
      { event: 'attempt', after_ms: null },
      { event: 'first_byte', after_ms: 50 },
      { event: 'end', after_ms: 100 }
    ]
  })
  t.equal((await viewer.send('GET /admin/v1/calls')).status, 403)
  t.equal((await owner.send('GET /admin/v1/calls')).body.data.length, 3)
  t.same(
    (await owner.send('GET /admin/v1/keys')).body.data.map(
      ({ last_used_at_ms: at }: { last_used_at_ms: number }) => at
    ),
    [now - hour, now - hour]
  )
})

t.test('calls are found by every filter, in pages', async t => {
  const place = await adminGateway(t)
  await record(place, [
    {
      at_ms: now + 1,
      call_id: 'first',
      error_code: 'rate_limit_exceeded',
      outcome: 'error',
      status: 429,
      cost_nano_usd: 0
    },
    {
      at_ms: now + 2,
      call_id: 'second',
      streamed: 1,
      duration_ms: 5000,
      requested_model: 'fast',
      attempts: 3,
      cost_nano_usd: null
    },
    {
      at_ms: now + 3, call_id: 'third', requested_model: 'c,fast', endpoint: 'embeddings', cost_nano_usd: 3e9
    },
    { at_ms: now + 3, call_id: 'fourth', model: 'b/x_y', provider: 'b', key_id: 'key_b' }
  ])
  const { send } = await place.user('owner')
  const found = async (query: string): Promise<string[]> =>
    (await send(`GET /admin/v1/calls?${query}`)).body.data.map(
      ({ request_id: id }: { request_id: string }) => id
    )
  for (const [query, ids] of [
    ['outcome=error', ['first']],
    ['status=429,500', ['first']],
    ['error=rate_limit_exceeded', ['first']],
    ['streamed=true', ['second']],
    ['min_duration_ms=1000', ['second']],
    ['endpoint=embeddings', ['third']],
    ['min_cost_usd=2.5', ['third']],
    ['model=b/x_y', ['fourth']],
    ['provider=b,c', ['fourth']],
    ['key=key_b', ['fourth']],
    ['request_id=third', ['third']],
    ['requested_model=fast', ['second']],
    ['requested_model=c,fast', ['second']],
    ['requested_model=c\\,fast', ['third']],
    ['min_attempts=2&max_attempts=3', ['second']],
    ['priced=false', ['second']],
    ['min_cost_usd=0.5&max_cost_usd=1', ['fourth']],
    ['max_prompt_tokens=9', []],
    ['search=x_', ['fourth']],
    ['search=RATE', ['first']],
    ['search=%25', []],
    [`until_ms=${now + 2}`, ['first']],
    [`from_ms=${now + 3}&endpoint=chat`, ['fourth']],
    ['project=nothing', []],
    ['project=&status=&outcome=error', ['first']]
  ] as const) {
    t.same(await found(query), ids, query)
  }
  const first = (await send('GET /admin/v1/calls?limit=3')).body
  const rest = (await send(`GET /admin/v1/calls?limit=3&cursor=${first.next_cursor}`)).body
  t.equal(new Set([...first.data, ...rest.data].map(({ id }: { id: string }) => id)).size, 4)
  for (const query of [
    'from_ms=x', 'min_cost_usd=-1', 'max_turns=many', 'status=abc', 'status=429,4.5', 'streamed=1',
    'cached=yes'
  ]) {
    const { status, body } = await send(`GET /admin/v1/calls?${query}`)
    t.match([status, body.error], [400, { code: 'invalid_value', param: query.split('=', 1)[0] }], query)
  }
  for (const query of [
    'bucket=week',
    'group_by=colour',
    'from_ms=5&until_ms=4',
    `from_ms=0&until_ms=${now}&bucket=hour`,
    'compare=1',
    'from_ms=9007199254000000&until_ms=9007199254740991' // later than any `Date`
  ]) {
    t.equal((await send(`GET /admin/v1/usage?${query}`)).status, 400, query)
    t.equal((await send(`GET /admin/v1/usage.csv?${query}`)).status, 400, query)
  }
})

t.test('of many groups those with the highest cost are listed, and the rest combined', async t => {
  const place = await adminGateway(t)
  await record(place, [
    ...Array.from({ length: 60 }, (_, index) => ({
      at_ms: now - hour,
      model: `a/${index}`,
      cost_nano_usd: 1e9 * (index + 1)
    })),
    { at_ms: now - 2 * hour, model: null, cost_nano_usd: 1e12 }
  ])
  const { send } = await place.user('owner')
  const { groups } = (
    await send(`GET /admin/v1/usage?from_ms=${now - 3 * hour}&until_ms=${now}&group_by=model`)
  ).body
  t.equal(groups.length, 51)
  t.match(groups.slice(0, 2), [
    { id: null, name: 'Not known', totals: { cost_usd: 1000 } },
    { id: 'a/59', name: 'a/59', totals: { cost_usd: 60 } }
  ])
  t.match(groups[50], {
    id: null,
    name: 'Others',
    totals: { calls: 11, cost_usd: 66, latency_ms: { p50: 105 } },
    series: { calls: [0, 0, 11] }
  })
})

t.test('every number of a call has a filter', async t => {
  const place = await adminGateway(t)
  const numbers = Object.keys(callNumbers)
  await record(place, numbers.map((name, index) => ({ at_ms: now + index, call_id: name, [name]: 123_456 })))
  const { send } = await place.user('owner')
  for (const name of numbers) {
    t.match(
      (await send(`GET /admin/v1/calls?min_${name}=123456&max_${name}=123456`)).body.data,
      [{ request_id: name }],
      name
    )
  }
  for (const name of ['estimated', 'own_provider_key'] as const) {
    await record(place, [{ id: name, at_ms: now, call_id: name, [name]: 1 }])
    t.match((await send(`GET /admin/v1/calls?${name}=true`)).body.data, [{ request_id: name }], name)
  }
})

t.test('an invalid filter for following calls is refused before the stream begins', async t => {
  const place = await adminGateway(t)
  const { headers } = await place.user('owner')
  for (const query of ['from_ms=abc', 'min_cost_usd=x']) {
    const response = await fetch(`${place.api.url}/admin/v1/live-calls?${query}`, { headers })
    t.equal(response.status, 400, query)
    t.match(await response.json(), { error: { code: 'invalid_value' } })
  }
})

t.test('calls are streamed as they end', async t => {
  const place = await adminGateway(t)
  const { headers } = await place.user('owner')
  const controller = new AbortController()
  t.teardown(() => controller.abort())
  const response = await fetch(`${place.api.url}/admin/v1/live-calls?endpoint=chat&own_provider_key=false`, {
    headers,
    signal: controller.signal
  })
  t.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  const messages = messagesOf(response)
  const follow = async (): Promise<{ ids: string[], skipped: boolean }> => {
    const { calls, skipped } = (await messages.next()).value ?? { calls: [], skipped: false }
    return { ids: calls.map(({ request_id: id }) => id).toSorted(), skipped }
  }
  const ended = (prefix: string, count: number): Array<Partial<UsageRow>> => (
    Array.from({ length: count }, (_, index) => {
      const id = `${prefix}-${String(index).padStart(3, '0')}`
      return { id, call_id: id, at_ms: Date.now() - 1000 * index, duration_ms: 1000 * index + 100 }
    })
  )
  const idsOf = (rows: ReadonlyArray<Partial<UsageRow>>): unknown[] => rows.map(({ call_id: id }) => id)
  t.same(await follow(), { ids: [], skipped: false })
  const slow = ended('slow', 90)
  await record(place, [...slow, { at_ms: Date.now(), call_id: 'other', endpoint: 'embeddings' }])
  t.same(await follow(), { ids: idsOf(slow), skipped: false }, 'however long they took')
  await record(place, ended('many', 150))
  const many = await follow()
  t.ok(many.skipped)
  t.match(
    [many.ids.length, new Set(many.ids).size, many.ids.every(id => id.startsWith('many'))],
    [100, 100, true]
  )
  await record(place, ended('after', 1))
  t.same(await follow(), { ids: ['after-000'], skipped: false }, 'what was left out stays out')
})

t.test('one user can follow calls in five places, without taking those of others', async t => {
  const place = await adminGateway(t)
  const [one, other] = [await place.user('owner'), await place.user('owner')]
  const controller = new AbortController()
  t.teardown(() => controller.abort())
  const follow = async ({ headers }: typeof one): Promise<number> => {
    const response = await fetch(`${place.api.url}/admin/v1/live-calls`, {
      headers,
      signal: controller.signal
    })
    if (response.status === 200) await messagesOf(response).next()
    return response.status
  }
  const statuses: number[] = []
  for (let index = 0; index < 7; index++) statuses.push(await follow(one))
  t.same(statuses, [200, 200, 200, 200, 200, 503, 503])
  t.equal(await follow(other), 200)
})

t.test('a slot for following calls is taken at once and released after the call', async t => {
  const ending = new AbortController()
  const principal = { id: 'user-of-this-test', name: 'x', role: 'owner' }
  const call = { principal, search: new URLSearchParams(), signal: ending.signal } as never // all it reads
  const follow = async (): Promise<unknown> =>
    await callHandlers['GET /admin/v1/live-calls'](call, {} as never) // no services either
  for (let place = 0; place < 5; place++) await follow()
  await t.rejects(follow(), { code: 'overloaded' })
  ending.abort(new Error('left'))
  const again = { principal, search: new URLSearchParams(), signal: new AbortController().signal } as never
  await t.resolves(callHandlers['GET /admin/v1/live-calls'](again, {} as never))
})

t.test('many simultaneous reports of one user do not affect anyone else', async t => {
  const { user } = await adminGateway(t)
  const [one, other] = [await user('viewer'), await user('viewer')]
  const all = [...Array.from({ length: 80 }, () => one), other]
  const statuses = await Promise.all(all.map(async ({ send }) => (await send('GET /admin/v1/usage')).status))
  t.same(new Set(statuses), new Set([200]))
})

t.test("following calls always uses the caller's current rights", async t => {
  const place = await adminGateway(t)
  const { keys, accounts: { adminKeys, projects, users } } = place.admin
  const [left, kept] = [await projects.create({ name: 'left' }), await projects.create({ name: 'kept' })]
  const [inLeft, inKept] = [
    await keys.create({ name: 'a', project_id: left.id }, { id: null, name: 'test' }),
    await keys.create({ name: 'b', project_id: kept.id }, { id: null, name: 'test' })
  ]
  const follow = async (
    headers: Readonly<Record<string, string>>
  ): Promise<AsyncGenerator<LiveCalls, undefined>> => {
    const messages = messagesOf(
      await fetch(`${place.api.url}/admin/v1/live-calls`, { headers, signal: controller.signal })
    )
    t.match((await messages.next()).value, { calls: [] })
    return messages
  }
  const controller = new AbortController()
  t.teardown(() => controller.abort())
  const member = await place.user('member', [left.id, kept.id])
  const followed = await follow(member.headers)
  await users.leave(member.user.id, left.id)
  await record(
    place,
    [inLeft, inKept].map(({ key: { id, name } }) => ({
      id: name,
      call_id: name,
      key_id: id,
      at_ms: Date.now()
    }))
  )
  t.same(
    (await followed.next()).value?.calls.map(({ request_id: id }) => id),
    ['b'],
    'not of a project that they have left'
  )

  const [disabled, lower] = [await place.user('admin'), await place.user('admin')]
  const { key, secret } = await adminKeys.create({ name: 'ops', role: 'admin', createdBy: 'test' })
  const streams = [
    followed,
    ...(await Promise.all([disabled, lower].map(async ({ headers }) => await follow(headers)))),
    await follow({ authorization: `Bearer ${secret}` })
  ]
  await member.send('DELETE /admin/v1/session')
  await users.update(disabled.user.id, { disabled: true })
  await users.update(lower.user.id, { role: 'viewer' })
  await adminKeys.revoke(key.id)
  await record(place, [{ call_id: 'late', key_id: inKept.key.id, at_ms: Date.now() }])
  const end = async (messages: AsyncGenerator<LiveCalls>): Promise<string> => {
    for await (const { calls } of messages) {
      if (calls.some(({ request_id: id }) => id === 'late')) return 'sees what ends later'
    }
    return 'has ended'
  }
  t.same(await Promise.all(streams.map(end)), streams.map(() => 'has ended'))
})

async function * messagesOf ({ body }: Response): AsyncGenerator<LiveCalls, undefined> {
  let text = ''
  for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const frames = (text + piece).split('\n\n')
    text = frames.pop() ?? ''
    for (const frame of frames) if (frame.startsWith('data: ')) yield JSON.parse(frame.slice('data: '.length))
  }
}

t.test('models, providers and tool servers are described without secrets', async t => {
  const place = await adminGateway(t, {
    toolServers: [
      {
        slug: 'acme/tickets',
        url: 'http://127.0.0.1:9/mcp?key=secret',
        headers: {},
        args: [],
        env: {},
        shared: false
      }
    ],
    routes: [{ name: 'fast', models: ['openai/gpt-4o-mini', 'openai/gpt-4o'] }],
    providers: [{ ...providerSettings('openai', 'openai'), apiKey: new Secret('the secret') }]
  })
  const { send } = await place.user('viewer')
  const { data } = (await send('GET /admin/v1/models')).body
  t.match(data[0], { id: 'fast', kind: 'route', targets: ['openai/gpt-4o-mini', 'openai/gpt-4o'] })
  t.match(
    data.find(({ id }: { id: string }) => id === 'openai/gpt-4o-mini'),
    { kind: 'model', circuit: 'closed', price: { input: Number, output: Number } }
  )
  const providers = (await send('GET /admin/v1/providers')).body
  t.match(providers.data, [
    {
      id: 'openai',
      enabled: true,
      credentials: 1,
      credentials_ready: 1,
      last_hour: { attempts: 0, failed_attempts: 0, latency_ms: null }
    }
  ])
  const member = await place.user('member')
  const servers = (await member.send('GET /admin/v1/tool-servers')).body
  t.same(servers.data, [{ slug: 'acme/tickets', transport: 'http', target: 'http://127.0.0.1:9/mcp' }])
  t.match((await member.send('GET /admin/v1/tool-servers/acme/tickets')).body, {
    connected: false,
    tools: []
  })
  t.equal((await member.send('GET /admin/v1/tool-servers/acme/none')).status, 404)
  t.notMatch(JSON.stringify([providers, servers]), 'secret')
})

t.test(
  'calls are found and summed by end user, and a member sees only their projects',
  async t => {
    const place = await adminGateway(t, {
      providers: [{ ...providerSettings('sandbox', 'sandbox'), options: { words_per_second: 0 } }]
    })
    const { send } = await place.user('owner')
    const { body: project } = await send('POST /admin/v1/projects', { name: 'Other' })
    const secretOf = async (more: object): Promise<string> =>
      (await send('POST /admin/v1/keys', more)).body.secret
    const [own, other] = [
      await secretOf({ name: 'own' }),
      await secretOf({ name: 'other', project_id: project.id })
    ]
    const ask = async (
      secret: string,
      body: object,
      headers: Record<string, string> = {}
    ): Promise<void> => {
      const request = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'hi' }], ...body }
      t.equal(
        (
          await place.api.post('/v1/chat/completions', request, {
            headers: { authorization: `Bearer ${secret}`, ...headers }
          })
        ).status,
        200
      )
    }
    await ask(
      own,
      { user: 'ada, the first', metadata: { tags: ['a', 'b'], job: '7' } },
      { 'x-session-id': 'run "1"' }
    )
    await ask(own, { user: 'ada, the first', metadata: { tags: ['b'] } }, { 'x-session-id': 'run "1"' })
    await ask(own, { safety_identifier: 'bob' }, { 'x-litellm-tags': 'ab' })
    await ask(other, { user: 'ada, the first' }, { 'x-headgate-tags': 'b' })
    await ask(other, {})
    const list = async (by: Person['send'], filter: string): Promise<number> =>
      (await by(`GET /admin/v1/calls?${filter}`)).body.data.length
    await eventually(
      async () => await list(send, ''),
      count => count === 5,
      'five records'
    )
    const counts = async (by: Person['send'], filter: string): Promise<object> => {
      const { body } = await by(`GET /admin/v1/usage?${filter}`)
      return [
        body.totals.calls,
        Object.fromEntries(body.groups.map(({ id, name, totals }: UsageGroup) => [id ?? name, totals.calls]))
      ]
    }
    t.same(await counts(send, 'group_by=end_user'), [5, { 'ada, the first': 3, bob: 1, None: 1 }])
    t.same(
      await counts(send, 'group_by=tag'),
      [5, { a: 1, b: 3, ab: 1, None: 1 }],
      'a call counts in each of its tags, and once in all'
    )
    t.same(await counts(send, 'group_by=session'), [5, { 'run "1"': 2, None: 3 }])
    t.same(await counts(send, 'group_by=session&tag=a,ab'), [2, { 'run "1"': 1, None: 1 }])
    t.same(
      await counts(send, `group_by=tag&end_user=${encodeURIComponent('ada, the first')}&project=default`),
      [2, { a: 1, b: 2 }]
    )
    t.same(await counts(send, `group_by=project&session=${encodeURIComponent('run "1"')}&bucket=day`), [
      2,
      { default: 2 }
    ])
    t.same(
      [
        await list(send, 'tag=b'),
        await list(send, 'tag=a'),
        await list(send, 'tag=B'),
        await list(send, 'end_user=bob'),
        await list(send, 'session=run')
      ],
      [3, 1, 0, 1, 0]
    )
    const {
      body: {
        data: [call]
      }
    } = await send('GET /admin/v1/calls?tag=a')
    t.match(call, { end_user: 'ada, the first', session: 'run "1"', tags: ['a', 'b'] })
    t.same((await send(`GET /admin/v1/calls/${call.id}`)).body.metadata, { job: '7' })
    const csv = await send('GET /admin/v1/calls.csv?tag=b,ab&session=')
    t.equal(csv.response.headers.get('content-disposition'), 'attachment; filename="calls.csv"')
    const [head, ...rows] = csv.body.trimEnd().split('\r\n')
    t.match(head, /^id,call_id,at_ms,.*,end_user,session,tags,metadata,/)
    t.equal(rows.length, 4)
    t.match(rows[0], /,"ada, the first","run ""1""","\[""a"",""b""\]","\{""job"":""7""\}",/)
    const sums = (await send('GET /admin/v1/usage.csv?group_by=tag')).body.split('\r\n')
    t.match(sums[0], /^time,tag,tag_name,calls,/)

    await record(place, [
      { at_ms: Date.now(), endpoint: 'mirror', key_id: 'mirror', end_user: 'ada, the first' }
    ])
    t.equal(await list(send, 'endpoint=mirror'), 1)
    const member = await place.user('member', ['default'])
    t.equal(await list(member.send, 'endpoint=mirror'), 0, 'a copy of a call of any project')
    t.same(await counts(member.send, 'group_by=end_user'), [3, { 'ada, the first': 2, bob: 1 }])
    t.same(await counts(member.send, `group_by=tag&project=${project.id}`), [0, {}])
    t.same(
      [
        await list(member.send, 'tag=b'),
        (await member.send('GET /admin/v1/calls.csv')).body.trimEnd().split('\r\n').length
      ],
      [2, 4]
    )
    t.equal((await (await place.user('viewer')).send('GET /admin/v1/calls.csv')).status, 403)

    const month = `from_ms=${Date.now() - 40 * 24 * hour}`
    await record(place, [{ at_ms: Date.now() - 35 * 24 * hour, end_user: 'ada, the first', tags: '["b"]' }])
    t.same(
      await counts(send, `group_by=end_user&${month}`),
      [7, { 'ada, the first': 5, bob: 1, None: 1 }],
      'days of sums have no bound'
    )
    t.match((await send(`GET /admin/v1/usage?group_by=tag&${month}`)).body, {
      bucket: 'day',
      cut_before_ms: null,
      summed_from_ms: null,
      totals: { calls: 7 }
    })
    const ofAda = `group_by=tag&end_user=${encodeURIComponent('ada, the first')}&compare=true`
    const { body: cut } = await send(`GET /admin/v1/usage?${ofAda}&${month}`)
    t.equal(cut.cut_before_ms, cut.until_ms - 31 * 24 * hour)
    t.same(
      [cut.totals.calls, cut.previous, cut.groups.map(({ totals }: UsageGroup) => totals.calls).toSorted()],
      [4, null, [1, 1, 3]],
      'records have one, and the rest is compared with nothing'
    )
    t.match((await send(`GET /admin/v1/usage?${ofAda}`)).body, {
      cut_before_ms: null,
      previous: { totals: { calls: 0 } }
    })
  }
)

t.test('a tag is found by its exact name, whatever characters it has', async t => {
  const place = await adminGateway(t)
  const { send } = await place.user('owner')
  const names = ['50%_"\\ü', '50ab"\\ü', '%', '_', 'a', 'A', 'a"', '"a"', 'a\u0001']
  await record(place, names.map(name => ({ at_ms: Date.now(), tags: JSON.stringify(['first', name]) })))
  for (const name of names) {
    const { data } = (await send(`GET /admin/v1/calls?tag=${encodeURIComponent(name)}`)).body
    t.strictSame(data.map(({ tags }: { tags: string[] }) => tags), [['first', name]], name)
  }
  t.equal((await send('GET /admin/v1/calls?tag=first')).body.data.length, names.length)
  t.equal((await send('GET /admin/v1/calls?tag=fir')).body.data.length, 0)
})
