import t from 'tap'
import fc from 'fast-check'
import { noteAttribution, renewAttribution, replaceNames } from '../../lib/validation/attribution.ts'
import { CallRecord } from '../../lib/core/record.ts'
import { sandbox } from '../support/weather-conversation.ts'
import { fakeUpstream } from '../support/upstream.ts'
import { chatUpstreamAt, testGateway, testKey, upstreamAt } from '../support/gateway.ts'
import { settings } from '../support/settings.ts'
import { until } from '../support/until.ts'
import { fillRecord } from '../support/fill-record.ts'
import { rounds } from '../support/rounds.ts'

const id = '0b7f1d3c-0a51-4a0e-9a52-2f3a3d1f6b7a'

function attributed (body: unknown, headers: Record<string, string> = {}, tags?: readonly string[]) {
  const record = new CallRecord('chat')
  record.caller.tags = tags
  const left = noteAttribution(body, { headers, record })
  return { left, record }
}

/** The same if metadata values need not be strings. */
function attributedWhole (metadata: unknown) {
  const record = new CallRecord('chat')
  record.caller.acceptsAnyMetadata = true
  return { left: noteAttribution({ metadata }, { headers: {}, record }), record }
}

function sessionIn (headers: Record<string, string>, userId?: string): string | undefined {
  return attributed({ metadata: { user_id: userId } }, headers).record.caller.session
}

function withoutSession (userId: string): string | undefined {
  return attributed({ metadata: { user_id: userId } }).record.caller.endUser
}

t.test('tags come from the key, from headers and from metadata, each once', async t => {
  const { left, record } = attributed(
    { model: 'm', metadata: { tags: ['a', 1, 'b'.repeat(100), 'c, d'], job: 'x' } },
    { 'x-headgate-tags': 'one, two,,one', 'x-litellm-tags': 'three' },
    ['team']
  )
  t.same(left, { model: 'm', metadata: { job: 'x' } }, 'the list is taken out')
  t.same(record.caller.tags, ['team', 'one', 'two', 'three', 'a', 'b'.repeat(64), 'c', 'd'])
  t.same(record.caller.metadata, { job: 'x' })
  t.same(attributed({ metadata: { tags: ['a'] } }).left, {})
  const text = { metadata: { tags: 'a,b', job: 'x' } }
  t.equal(attributed(text).left, text, 'a text stays an ordinary pair')
  t.same(attributed(text).record.caller.tags, ['a', 'b'])
})

t.test('the first name found is the end user', async t => {
  const claude = 'user_1_account_2_session_0b7f1d3c-0a51-4a0e-9a52-2f3a3d1f6b7a'
  const names: ReadonlyArray<readonly [object, Record<string, string>, string | undefined]> = [
    [
      { user: 'u', safety_identifier: 's', metadata: { user_id: 'm' } },
      { 'x-litellm-end-user-id': 'h' },
      'h'
    ],
    [{ user: 'u', safety_identifier: 's', metadata: { user_id: 'm' } }, {}, 's'],
    [{ user: 'u', metadata: { user_id: 'm' } }, {}, 'u'],
    [{ user: 'u', safety_identifier: '' }, { 'x-litellm-end-user-id': '' }, 'u'],
    [{ user: null, metadata: { user_id: claude } }, {}, 'user_1_account_2'],
    [{ user: 'x'.repeat(300) }, {}, 'x'.repeat(256)],
    [{ user: '\u0000' }, {}, undefined],
    [{ user: 7, metadata: {} }, {}, undefined]
  ]
  for (const [body, headers, name] of names) t.equal(attributed(body, headers).record.caller.endUser, name)
  t.equal(
    attributed({ metadata: { user_id: claude } }).record.caller.session,
    '0b7f1d3c-0a51-4a0e-9a52-2f3a3d1f6b7a'
  )
})

t.test('a session is taken from the first header, else from the user id of Claude Code', async t => {
  const headers = [
    'x-session-id',
    'x-claude-code-session-id',
    'session-id',
    'session_id',
    'x-session-affinity'
  ]
  for (const [index, header] of headers.entries()) {
    const later = Object.fromEntries(headers.slice(index + 1).map(name => [name, 'later']))
    t.equal(sessionIn({ ...later, [header]: 'one' }, `user_abc_account__session_${id}`), 'one', header)
  }
  t.equal(sessionIn({}, JSON.stringify({ device_id: 'd', account_uuid: '', session_id: id })), id)
  t.equal(sessionIn({}, `user_abc_account__session_${id}`), id)
  t.equal(sessionIn({ 'x-session-id': '', 'session-id': 'abc' }), 'abc', 'an empty header names none')
  t.equal(sessionIn({ 'x-session-id': 'a\u009b2Jb\t' }), 'a2Jb', 'without control characters')
  for (const header of ['', 'x'.repeat(256)]) {
    t.equal(sessionIn({ 'x-session-id': header }, 'someone'), undefined)
  }
})

t.test('all sessions of a person belong to one user', async t => {
  t.equal(withoutSession(`user_abc_account_${id}_session_${id}`), `user_abc_account_${id}`)
  t.equal(
    withoutSession(JSON.stringify({ device_id: 'd', account_uuid: 'a', session_id: id })),
    JSON.stringify({ device_id: 'd', account_uuid: 'a' })
  )
  t.equal(withoutSession('ada@example.com'), 'ada@example.com')
})

t.test('the recorded values are limited, whatever is sent', async t => {
  const pairs = Object.fromEntries(
    Array.from({ length: 1000 }, (_, index) => [`${index}${'n'.repeat(100)}`, 'v'.repeat(1000)])
  )
  const { record } = attributed(
    { metadata: { ...pairs, tags: Array.from({ length: 1000 }, (_, index) => `t${index}`) } },
    { 'x-headgate-tags': 'h,'.repeat(5000) }
  )
  t.equal(record.caller.tags?.length, 20)
  t.same(Object.values(record.caller.metadata ?? {}), Array.from({ length: 16 }, () => 'v'.repeat(512)))
  t.ok(Object.keys(record.caller.metadata ?? {}).every(name => name.length === 64))
  t.same(
    attributed({ metadata: { a: 'x\u0000\ud800y', tags: ['p\nq'] } }).record,
    fillRecord(new CallRecord('chat'), { caller: { metadata: { a: 'x\ufffdy' }, tags: ['pq'] } })
  )
})

t.test('any other body is the same object, and nothing is recorded', async t => {
  for (const body of [null, 'x', [], {}, { metadata: null }, { metadata: ['tags'] }, { metadata: {} }]) {
    const { left, record } = attributed(body)
    t.equal(left, body)
    t.same(record, new CallRecord('chat'))
  }
})

t.test('every dialect and form can carry them, and the provider gets no list of tags', async t => {
  const upstream = await fakeUpstream({ pieces: ['{}'] })
  t.teardown(upstream.close)
  const api = await testGateway(t, { providers: [chatUpstreamAt(upstream.url), sandbox] })
  const headers = { 'x-session-id': 'run 7', 'x-headgate-tags': 'team' }
  const messages = [{ role: 'user', content: 'hi' }]
  await (
    await api.post(
      '/v1/chat/completions',
      { model: 'openai/m', messages, user: 'ada', metadata: { tags: ['a'], job: '1' } },
      { headers }
    )
  ).text()
  await (
    await api.post(
      '/v1/messages',
      { model: 'sandbox/echo', max_tokens: 9, messages, metadata: { user_id: 'ada' } },
      { headers }
    )
  ).text()
  await (
    await api.post(
      '/v1/responses',
      { model: 'sandbox/echo', input: 'hi', safety_identifier: 'ada' },
      { headers }
    )
  ).text()
  await (
    await api.post('/v1/embeddings', { model: 'sandbox/embed', input: 'hi', user: 'ada' }, { headers })
  ).text()
  const form = new FormData()
  form.set('model', 'openai/m')
  form.set('prompt', 'hi')
  form.set('user', 'ada')
  form.set('image', new Blob([new Uint8Array([1])], { type: 'image/png' }), 'a.png')
  await (
    await fetch(`${api.url}/v1/images/edits`, {
      method: 'POST',
      headers: { ...headers, authorization: `Bearer ${testKey}` },
      body: form
    })
  ).text()
  const said = api.lines
    .filter(({ msg }) => msg === 'call')
    .map(({ endpoint, tags, end_user, session, metadata }) => ({
      endpoint,
      tags,
      end_user,
      session,
      metadata
    }))
  t.same(
    said,
    ['chat', 'messages', 'responses', 'embeddings', 'imageEdits'].map((_, index) => ({
      endpoint: said[index]?.endpoint,
      tags: index === 0 ? ['team', 'a'] : ['team'],
      end_user: 'ada',
      session: 'run 7',
      metadata: index === 0 ? { job: '1' } : undefined
    }))
  )
  t.same(JSON.parse(upstream.requests[0]?.text ?? '').metadata, { job: '1' })
})

t.test('values redacted by guards are recorded, and those from headers are redacted separately', t => {
  const headers = { 'x-litellm-end-user-id': 'Ann', 'session-id': 'of Ann', 'x-headgate-tags': 'Ann,b' }
  const rows: ReadonlyArray<readonly [Record<string, string>, object]> = [
    [{}, { endUser: '?', session: undefined, tags: ['Ann'] }],
    [headers, { endUser: 'A', session: 'of A', tags: ['A', 'b'] }]
  ]
  const body = { user: 'Ann', metadata: { a: 'Ann', tags: ['Ann'] } }
  for (const [given, expected] of rows) {
    const { record } = attributed(body, given)
    renewAttribution(body, { user: '?', metadata: { a: '?' } }, { headers: given, record })
    if (given === headers) replaceNames({ headers: given, record }, text => text.replace('Ann', 'A'))
    t.match(record.caller, { ...expected, metadata: { a: '?' } })
  }
  t.end()
})

t.test('body fields missing in the request are redacted separately, and once', t => {
  const body = { user: 'Ann', metadata: { a: 'Ann', user_id: `Ann_session_${id}` } }
  const seen: string[] = []
  const replace = (text: string): string => {
    seen.push(text)
    return text.replace('Ann', 'A')
  }
  const { record } = attributed(body)
  renewAttribution({ prompt: 'Ann' }, { prompt: '?' }, { headers: {}, record })
  t.match(record, {
    caller: { endUser: 'Ann', metadata: { a: 'Ann' }, session: id }
  }, 'the request said none of it')
  replaceNames({ headers: {}, record }, replace, { prompt: '?' })
  t.match(record, { caller: { endUser: 'A', metadata: { a: 'A' }, session: id } })
  t.same(seen, ['Ann', id, 'a', 'Ann'], 'names of metadata are seen as well')

  seen.length = 0
  const { record: other } = attributed({ user: 'Ann' })
  replaceNames({ headers: {}, record: other }, replace, { user: 'Ann' })
  t.same(seen, [], 'what the request has was looked at there')
  t.end()
})

t.test('if end users are digests, a record has that of the original name, whatever guards change', t => {
  const inBody = { user: 'Ann', metadata: { a: 'Ann' } }
  const byHeader = { 'x-litellm-end-user-id': 'Ann' }
  for (const [body, headers] of [[inBody, {}], [{}, byHeader]] as const) {
    const record = new CallRecord('chat')
    record.caller.digestEndUser = name => `digest of ${name}`
    noteAttribution(body, { headers, record })
    t.equal(record.caller.endUser, 'digest of Ann')
    renewAttribution(body, { ...body, user: '?' }, { headers, record })
    const seen: string[] = []
    replaceNames({ headers, record }, text => {
      seen.push(text)
      return 'A'
    })
    t.equal(record.caller.endUser, 'digest of Ann')
    t.same(seen, 'x-litellm-end-user-id' in headers ? ['Ann'] : [], 'guards see what a header says')
  }
  t.end()
})

t.test('if any metadata is accepted, non-string values are recorded as JSON and removed', async t => {
  const metadata = { run: { id: 7 }, job: 'x', user_id: 5, tags: ['a', 'b'], none: null }
  const { left, record } = attributedWhole(metadata)
  t.same(left, { metadata: { job: 'x' } })
  t.same(record.caller.metadata, { job: 'x', run: '{"id":7}', user_id: '5', none: 'null' })
  t.same(record.caller.tags, ['a', 'b'])
  t.same(record.request.ignoredFields, ['metadata.run', 'metadata.user_id', 'metadata.none'])
  t.same(attributedWhole({ tags: { a: 1 } }).record.caller.metadata, { tags: '{"a":1}' }, 'no list of tags')
  t.same(attributedWhole({ run: 7 }).left, {})
  const strings = { metadata: { job: 'x', user_id: 'u' } }
  t.equal(attributedWhole(strings.metadata).record.request.ignoredFields, undefined)
  const many = Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => [`k${index}`, index < 20 ? 1 : 'x'])
  )
  t.same(
    Object.values(attributedWhole(many).record.caller.metadata ?? {}),
    Array.from({ length: 16 }, () => 'x'),
    'strings come first'
  )
  t.same(attributed({ metadata }).left, { metadata: { run: { id: 7 }, job: 'x', user_id: 5, none: null } })
})

t.test('the request keeps the strings, and the record the first 512 characters of any value', async t => {
  const long = fc.array(fc.jsonValue(), { minLength: 100, maxLength: 400 })
  const value = fc.oneof(fc.jsonValue(), long, fc.string({ maxLength: 600 }))
  const names = fc.stringMatching(/^k[a-z]{1,8}$/)
  fc.assert(fc.property(fc.dictionary(names, value, { minKeys: 1, maxKeys: 16 }), metadata => {
    const { left, record } = attributedWhole(metadata)
    const entries = Object.entries(metadata)
    const strings = entries.filter(([, value]) => typeof value === 'string')
    t.same(left, strings.length === 0 ? {} : { metadata: Object.fromEntries(strings) })
    const recorded = entries.map(([name, value]) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      return [name, text.slice(0, 512).toWellFormed().replace(/\p{Cc}/gu, '')] as const
    })
    t.same(record.caller.metadata, Object.fromEntries(recorded))
  }), { numRuns: rounds(200) })
})

t.test('guards inspect everything that was removed, and their result is recorded', t => {
  const { record } = attributedWhole({
    a: 'Ann', b: { c: ['x'.repeat(510), 'Ann', 42] }, d: ['x'.repeat(505), 'Ann']
  })
  const seen: string[] = []
  const mask = (text: string): string => {
    seen.push(text)
    return text.replace('Ann', '?')
  }
  renewAttribution({ metadata: { a: 'Ann' } }, { metadata: { a: '?' } }, { headers: {}, record })
  t.equal(record.caller.metadata?.['a'], '?')
  t.match(record.caller.metadata?.['d'], /x","An$/, 'it stays beside what the request says')
  t.equal(replaceNames({ headers: {}, record }, mask), true)
  t.match(record.caller.metadata, { a: '?', b: /^\{"c":\["x+/, d: /x","\?"$/ }, 'cut afterwards')
  t.same(seen.filter(text => !text.startsWith('x')), ['b', 'c', 'Ann', '42', 'd', 'Ann'], 'each once')
  t.equal(replaceNames({ headers: {}, record }, mask), false, 'nothing is left to replace')
  t.end()
})

const messages = [{ role: 'user', content: 'hi' }]
const document = { document_url: 'https://example.com/a.pdf' }
/** Requests of every endpoint with a JSON body. */
const requests: ReadonlyArray<readonly [path: string, body: object]> = [
  ['/v1/chat/completions', { model: 'chat/m', messages }],
  ['/v1/completions', { model: 'chat/m', prompt: 'hi' }],
  ['/v1/messages', { model: 'anthropic/claude-sonnet-4-5', max_tokens: 9, messages }],
  ['/v1/messages/count_tokens', { model: 'anthropic/claude-sonnet-4-5', messages }],
  ['/v1/responses', { model: 'openai/gpt-5', input: 'hi' }],
  ['/v1/responses', { model: 'chat/m', input: 'hi' }],
  ['/v1/embeddings', { model: 'openai/text-embedding-3-small', input: 'hi' }],
  ['/v1/images/generations', { model: 'openai/gpt-image-1', prompt: 'hi' }],
  ['/v1/audio/speech', { model: 'openai/tts-1', input: 'hi', voice: 'alloy' }],
  ['/v1/ocr', { model: 'mistral/mistral-ocr-latest', document }]
]

t.test('at every endpoint, recorded-only fields reach no provider, and a header names them', async t => {
  const upstream = await fakeUpstream({ pieces: ['{}'] })
  t.teardown(upstream.close)
  const api = await testGateway(t, {
    server: { ...settings().server, compatibility: 'litellm' },
    providers: [
      { ...chatUpstreamAt(upstream.url), id: 'chat' },
      upstreamAt(upstream.url),
      upstreamAt(upstream.url, 'anthropic', 'anthropic'),
      upstreamAt(upstream.url, 'mistral', 'mistral')
    ]
  })
  for (const [path, body] of requests) {
    const before = upstream.requests.length
    const sent = { ...body, metadata: { spend_logs_metadata: { run: 'only here' }, user_id: 'ada' } }
    const answer = await api.post(path, sent)
    await answer.text()
    t.not(answer.status, 422, path)
    t.match(answer.headers.get('x-headgate-ignored'), /^metadata\.spend_logs_metadata\b/, path)
    t.ok(upstream.requests.length > before, `${path} reaches a provider`)
  }
  t.notMatch(upstream.requests.map(({ text }) => text).join(), /only here|spend_logs/)
  await until(() => api.lines.filter(({ msg }) => msg === 'call').length === requests.length, 'the lines')
  for (const line of api.lines.filter(({ msg }) => msg === 'call')) {
    t.match(line, { end_user: 'ada', metadata: { spend_logs_metadata: '{"run":"only here"}' } })
  }
})

t.test('without the setting such a value is refused by name', async t => {
  const api = await testGateway(t, { providers: [sandbox] })
  for (const [path, body, status, name] of [
    ['/v1/chat/completions', { messages, metadata: { run: { id: 7 }, job: 'x' } }, 422, 'run'],
    ['/v1/responses', { input: 'hi', metadata: { job: 'x', run: null } }, 400, 'run'],
    ['/v1/messages', { max_tokens: 9, messages, metadata: { user_id: 7 } }, 400, 'user_id']
  ] as const) {
    const answer = await api.post(path, { ...body, model: 'sandbox/echo' })
    t.equal(answer.status, status)
    t.match(await answer.text(), `metadata.${name}`)
    t.equal(answer.headers.get('x-headgate-ignored'), null)
  }
})
