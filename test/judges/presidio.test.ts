/**
 * Runs against a fake that answers in the documented form, and with `HEADGATE_TEST_PRESIDIO=python` (a Python
 * with its packages) against the real services.
 */

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import t from 'tap'
import { openPresidio } from '../../lib/judges/presidio.ts'
import { fakeUpstream, type Script } from '../support/upstream.ts'
import { routedCall } from '../support/stages.ts'
import type { TextAtPoint, Verdict } from '../../lib/guards/text-judge.ts'
import type { GuardSettings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

function json (value: unknown, status = 200): Script {
  return { status, headers: { 'content-type': 'application/json' }, pieces: [JSON.stringify(value)] }
}

interface Entity { entity_type: string, start: number, end: number, score: number }

interface Question {
  readonly text: string
  readonly language: string
  readonly entities?: readonly string[]
  readonly score_threshold?: number
  readonly analyzer_results?: readonly Entity[]
}

/** What the fake recognises: the last two need a language model, which the real services here do not have. */
const recognisers: Readonly<Record<string, { readonly match: RegExp, readonly score: number }>> = {
  EMAIL_ADDRESS: { match: /[\w.]+@[\w.]+\w/g, score: 1 },
  PERSON: { match: /Ada Lovelace|José/g, score: 0.85 },
  LOCATION: { match: /London/g, score: 0.85 }
}

async function startFake (t: Test): Promise<string> {
  const { url, close } = await fakeUpstream(({ path, json: body }) => {
    const {
      text,
      language,
      entities = Object.keys(recognisers),
      score_threshold: threshold = 0,
      analyzer_results: results = []
    } = body as Question
    if (path === '/anonymize') {
      const characters = Array.from(text)
      for (const { entity_type: name, start, end } of results.toSorted((a, b) => b.start - a.start)) {
        characters.splice(start, end - start, `<${name}>`)
      }
      return json({ text: characters.join(''), items: [] })
    }
    if (language !== 'en') return json({ error: 'no matching recognizers' }, 500)
    return json(
      entities.flatMap(name => {
        const { match, score = 0 } = recognisers[name] ?? {}
        if (match === undefined || score < threshold) return []
        return [...text.matchAll(match)].map(({ 0: { length }, index }) => {
          const start = Array.from(text.slice(0, index)).length
          return { entity_type: name, start, end: start + length, score, analysis_explanation: null }
        })
      })
    )
  })
  t.teardown(close)
  return url
}

async function startReal (t: Test, python: string): Promise<string> {
  const server = spawn(python, [join(import.meta.dirname, '../../../test/support/presidio-server.py')], {
    stdio: ['ignore', 'pipe', 'ignore']
  })
  t.teardown(() => server.kill())
  for await (const port of createInterface(server.stdout)) return `http://127.0.0.1:${port}`
  throw new Error('Presidio did not start')
}

async function inspect (
  t: Test,
  url: string,
  texts: readonly string[],
  more: Partial<GuardSettings> = {}
): Promise<Verdict> {
  const judge = openPresidio({
    settings: {
      name: 'personal',
      use: 'presidio',
      at: ['request'],
      analyzerUrl: `${url}/`,
      anonymizerUrl: url,
      entities: ['EMAIL_ADDRESS', 'CREDIT_CARD'],
      ...more
    }
  })
  t.teardown(async () => await judge.close?.())
  return await judge.inspect(
    texts.map((text): TextAtPoint => ({ text, point: 'request' })),
    { call: routedCall({}), signal: AbortSignal.timeout(60_000) }
  )
}

const { HEADGATE_TEST_PRESIDIO: python } = process.env
const services: Readonly<Record<string, (t: Test) => Promise<string>>> = {
  'a fake': startFake,
  ...python !== undefined && { Presidio: async t => await startReal(t, python) }
}

for (const [name, start] of Object.entries(services)) {
  t.test(`personal data is replaced, counted or refused, by ${name}`, async t => {
    const url = await start(t)
    t.same(await inspect(t, url, ['😀 Mail ada@example.com, or bob@example.com', 'Hello', 'eve@example.com']), {
      texts: ['😀 Mail <EMAIL_ADDRESS>, or <EMAIL_ADDRESS>', 'Hello', '<EMAIL_ADDRESS>'], findings: 3
    })
    t.same(await inspect(t, url, ['Hello', '']), {})
    t.same(await inspect(t, url, ['Mail ada@example.com'], { action: 'refuse' }), {
      refusal: 'it contains EMAIL_ADDRESS',
      findings: 1
    })
    t.same(await inspect(t, url, ['Mail ada@example.com'], { entities: ['CREDIT_CARD'] }), {})
    await t.rejects(inspect(t, url, ['Mail'], { language: 'xx', retries: 0 }))
  })
}

t.test('names and places, which need a language model, are replaced (by a fake)', async t => {
  const url = await startFake(t)
  const text = '😀 Ada Lovelace of London wrote to José, at jose@example.com'
  t.same(await inspect(t, url, [text], { entities: ['PERSON', 'LOCATION'] }), {
    texts: ['😀 <PERSON> of <LOCATION> wrote to <PERSON>, at jose@example.com'],
    findings: 3
  })
  t.same(await inspect(t, url, [text], { entities: ['PERSON', 'LOCATION'], action: 'refuse' }), {
    refusal: 'it contains PERSON, LOCATION',
    findings: 3
  })
  const sure = { entities: ['PERSON', 'EMAIL_ADDRESS'], scoreThreshold: 0.9 }
  t.same(await inspect(t, url, [text], sure), {
    texts: ['😀 Ada Lovelace of London wrote to José, at <EMAIL_ADDRESS>'],
    findings: 1
  })
})

t.test('invalid answers of the services count as unavailable', async t => {
  for (const answer of [{}, [{}], [{ entity_type: 'A', start: 0, end: '1', score: 1 }], [5]]) {
    const { url, close } = await fakeUpstream(json(answer))
    t.teardown(close)
    await t.rejects(inspect(t, url, ['a']), TypeError)
  }
  const { url, close } = await fakeUpstream(({ path }) =>
    json(path === '/analyze' ? [{ entity_type: 'A', start: 0, end: 1, score: 1 }] : { items: [] })
  )
  t.teardown(close)
  await t.rejects(inspect(t, url, ['a']), { message: 'the answer of the anonymizer has no text' })
})
