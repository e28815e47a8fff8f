/**
 * Fills a gateway with projects, users, keys and two days of calls: always the same, except for ids and the
 * hour in which they end.
 */

import { CallBodyStore, type NewCallBodies } from '../../lib/stores/call-body-store.ts'
import { guardPoints } from '../../schemas/config/guards.ts'
import type { Settings } from '../../lib/core/settings.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'
import type { AdminGateway, Send } from '../support/admin.ts'
import { usageRowOf } from '../support/usage.ts'

const hourMs = 3_600_000
const models = [
  { model: 'anthropic/claude-sonnet-4-5', provider: 'anthropic', nanoUsd: 21e6, ms: 2400, share: 5 },
  { model: 'openai/gpt-5', provider: 'openai', nanoUsd: 14e6, ms: 1900, share: 4 },
  { model: 'google/gemini-2.5-pro', provider: 'google', nanoUsd: 11e6, ms: 1600, share: 3 },
  { model: 'openai/gpt-5-mini', provider: 'openai', nanoUsd: 2e6, ms: 900, share: 3 },
  { model: 'mistral/mistral-large-latest', provider: 'mistral', nanoUsd: 5e6, ms: 1100, share: 1 }
]
const failures = [
  { status: 502, error_code: 'upstream_error' },
  { status: 429, error_code: 'rate_limit_exceeded' },
  { status: 504, error_code: 'upstream_timeout' },
  { status: 400, error_code: 'context_length_exceeded' }
]

/** Generates two days of calls with a daily rhythm, spread over the keys. */
export function sampleUsage (nowMs: number, keys: readonly string[] = ['key_a']): UsageRow[] {
  const rows: UsageRow[] = []
  for (let hour = 0; hour < 48; hour++) {
    const rhythm =
      1.3 + Math.sin((hour / 24) * 2 * Math.PI) + (hour < 24 ? 0.25 : 0) + 0.3 * Math.sin(hour * 2.3)
    for (const { model, provider, nanoUsd, ms, share } of models) {
      const calls = Math.max(1, Math.round(share * rhythm * (1 + 0.3 * Math.sin(hour * share))))
      for (let index = 0; index < calls; index++) {
        const spread = 0.6 + (index * 7 + hour * 3) % 10 / 8
        const failed = (index + hour * 5) % 37 === 11
        rows.push(
          usageRowOf(rows.length, {
            call_id: `7d1f0c52-${String(rows.length).padStart(4, '0')}-4c1e-9b7a-2f6d8e4a1c03`,
            key_id: keys[rows.length % keys.length] ?? '',
            at_ms: nowMs - hour * hourMs - index * 1000,
            requested_model: model,
            model,
            provider,
            endpoint: share === 3 ? 'responses' : 'chat',
            streamed: Number(index % 3 > 0),
            outcome: 'ok',
            status: 200,
            attempts: index % 11 === 4 ? 2 : 1,
            prompt_tokens: Math.round(1800 * spread),
            completion_tokens: Math.round(420 * spread),
            cost_nano_usd: Math.round(nanoUsd * spread),
            duration_ms: Math.round(ms * spread),
            first_byte_ms: index % 3 > 0 ? Math.round((ms * spread) / 5) : null,
            ...failed && {
              outcome: 'error',
              ...failures[hour % failures.length],
              completion_tokens: null,
              first_byte_ms: null,
              cost_nano_usd: 0
            }
          })
        )
      }
    }
  }
  return rows
}

const projects = [
  { name: 'Web shop', limits: { budget: { usd: 400, per: 'month' } } },
  {
    name: 'Research',
    limits: { budget: { usd: 2, per: 'month' }, requests_per_minute: 600 },
    models: ['anthropic/*', 'google/*']
  },
  { name: 'Internal tools and experiments of the platform engineering team (staging)' }
]
const keys = [
  {
    name: 'Checkout assistant',
    limits: {
      budget: { usd: 250, per: 'month' },
      requests_per_minute: 600,
      tokens_per_minute: 2_000_000,
      concurrent_calls: 32
    }
  },
  {
    name: 'Search suggestions',
    models: ['openai/gpt-5-mini', 'google/*'],
    endpoints: ['chat', 'embeddings']
  },
  {
    name: 'Nightly evaluation of retrieval-augmented answers, customer support (EMEA), do not delete',
    limits: { budget: { usd: 1, per: 'day' } }
  },
  { name: 'ada-laptop', expires_at_ms: Date.now() + 30 * 24 * hourMs },
  { name: 'ci' }
]

/** Fills a gateway through its admin API, so that the audit log knows of all of it. */
export async function fillGateway (gateway: AdminGateway): Promise<void> {
  const { send } = await gateway.user('owner')
  const places: string[] = ['default']
  for (const project of projects) {
    places.push(await made(send, 'POST /admin/v1/projects', project, ({ id }) => id))
  }
  const ids: string[] = []
  for (const [index, key] of keys.entries()) {
    ids.push(
      await made(
        send,
        'POST /admin/v1/keys',
        { ...key, project_id: places[(index + 1) % places.length] },
        ({ key }) => key.id
      )
    )
  }
  await gateway.user('admin')
  for (const place of places) await gateway.user('member', [place])
  await send('POST /admin/v1/invitations', {
    role: 'viewer',
    email: 'someone.with.a.long.name@research.example.com',
    projects: places.slice(1, 2)
  })
  await send('POST /admin/v1/admin-keys', { name: 'Terraform', role: 'admin' })
  const rows = sampleUsage(Date.now(), ids)
  await gateway.database.insertUsage(rows)
  for (const { id } of rows.slice(0, 1)) await new CallBodyStore(gateway.database).add(sampleBodies(id))
}

/** Names as long as real ones. */
export const longest = {
  model: 'fireworks/accounts/fireworks/models/llama4-maverick-instruct-basic',
  key: 'kundendienst-bestellverfolgung-produktion-frankfurt-am-main1',
  project: 'Rechnungsprüfungsautomatisierung und Lieferantenkommunikation',
  person: 'Maximiliane Freifrau von Hohenstein-Schwarzenberg',
  session: 'agent-run-2026-11-27-0c9a4a6e-5f0e-4f5e-9d55-0d1d8a2f4b7c-rechnungspruefung'
}

/** Guards with names and scopes of maximum length. */
export const longGuards: Settings['guards'] = [
  {
    name: 'no-numbers-of-payment-cards-and-accounts-in-what-leaves-europe',
    use: 'pattern',
    at: [...guardPoints],
    action: 'mask',
    patterns: ['card_number', 'iban'],
    only: {
      models: [longest.model, 'anthropic/*'],
      projects: [longest.project],
      endpoints: ['chat', 'messages', 'responses']
    }
  },
  { name: 'mail', use: 'pattern', at: ['request'], action: 'report', patterns: ['email'] }
]

/** Adds calls, keys, people and acts with the longest real names, and calls that ended in every way. */
export async function addLongNames ({ database, user, admin }: AdminGateway): Promise<void> {
  const { send, user: owner } = await user('owner')
  await admin.accounts.users.update(owner.id, { name: longest.person })
  const project = await made(
    send,
    'POST /admin/v1/projects',
    {
      name: longest.project,
      models: [longest.model, 'anthropic/*'],
      limits: { budget: { usd: 12_500, per: 'month' } }
    },
    ({ id }) => id
  )
  const key = await made(
    send,
    'POST /admin/v1/keys',
    {
      name: longest.key,
      project_id: project,
      limits: { budget: { usd: 9999.5, per: 'month' } },
      expires_at_ms: Date.now() + 90 * 24 * hourMs
    },
    ({ key }) => key.id
  )
  const used = await made(
    send,
    'POST /admin/v1/keys',
    {
      name: `${longest.key.slice(0, -1)}2`,
      project_id: project,
      limits: { budget: { usd: 12, per: 'total' } }
    },
    ({ key }) => key.id
  )
  await send(`POST /admin/v1/keys/${used}`, { name: `${longest.key.slice(0, -1)}3` })
  await send('POST /admin/v1/admin-keys', {
    name: longest.key,
    role: 'admin',
    scopes: ['keys:read', 'keys:write', 'usage:read', 'configuration:read']
  })
  await send('POST /admin/v1/invitations', {
    role: 'viewer',
    email: 'maximiliane.freifrau.von.hohenstein@kundendienst.example.com',
    projects: [project]
  })
  const provider = 'fireworks'
  const sampleNotes = JSON.stringify(
    longGuards.flatMap(({ name }) => [
      { stage: name, point: 'request', action: 'inspected', count: 3, took_ms: 12.5 },
      { stage: name, point: 'request', action: 'mask', count: 2 },
      { stage: name, point: 'answer', action: 'inspected', count: 1, took_ms: 3 }
    ])
  )
  const ends: ReadonlyArray<Partial<UsageRow>> = [
    { cost_nano_usd: 123e9 },
    { outcome: 'error', status: 502, error_code: 'upstream_stream_interrupted' },
    { outcome: 'error', status: 404, error_code: 'deferred_completion_not_found' },
    { outcome: 'client_closed', status: 499, error_code: 'client_closed_request' },
    { outcome: 'client_too_slow', status: 499, error_code: 'client_too_slow' },
    { outcome: 'interrupted', status: null },
    { endpoint: 'transcriptions', cost_nano_usd: null },
    { attempts: 12, estimated: 1 },
    { cached: 1, attempts: 0, cost_nano_usd: 0 },
    { findings: sampleNotes }
  ]
  await database.insertUsage(
    ends.map((end, index) =>
      usageRowOf(index, {
        id: `long-${index}`,
        call_id: `long-${index}`,
        at_ms: Date.now() - 1000 * index,
        key_id: index % 2 === 0 ? key : used,
        requested_model: longest.model,
        model: longest.model,
        provider,
        endpoint: 'responses',
        streamed: 1,
        outcome: 'ok',
        status: 200,
        prompt_tokens: 1_234_567,
        completion_tokens: 98_765,
        cost_nano_usd: 12e9,
        duration_ms: 754_321,
        first_byte_ms: 43_210,
        session: longest.session,
        ...end
      })
    )
  )
}

/** Makes the bodies of a call. */
function sampleBodies (id: string): NewCallBodies {
  const request = {
    model: 'anthropic/claude-sonnet-4-5',
    messages: [{ role: 'user', content: 'My card is [redacted]. Which of my orders has not arrived yet?' }],
    stream: true,
    user: '[redacted]'
  }
  const content = 'Order 1042 left the warehouse on Tuesday and should arrive tomorrow. '.repeat(30)
  const answer = {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: request.model,
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }]
  }
  return {
    id,
    project_id: 'default',
    readable_by: 'admin',
    expires_at_ms: Date.now() + 6 * 24 * hourMs,
    state: 'kept',
    request: {
      media_type: 'application/json',
      size_bytes: 214,
      text: JSON.stringify(request),
      truncated: false,
      redacted: true
    },
    answer: {
      media_type: 'text/event-stream',
      size_bytes: 48_213,
      text: JSON.stringify(answer).slice(0, 1800),
      truncated: true,
      redacted: false
    }
  }
}

async function made (
  send: Send,
  route: string,
  wanted: object,
  idOf: (body: Awaited<ReturnType<Send>>['body']) => string
): Promise<string> {
  const { status, body } = await send(route, wanted)
  if (status >= 300) throw new Error(`${route}: ${status} ${JSON.stringify(body)}`)
  return idOf(body)
}
