/** Runs the recipes of `docs/guards.md`, and validates all configurations of that page. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { loadSettings } from '../../lib/config/read-settings.ts'
import { endpointDocs } from '../../pipelines/index.ts'
import { guardKinds, guardKindOf } from '../../schemas/config/guards.ts'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { Secret } from '../../lib/core/secret.ts'
import { chatAnswer, fakeUpstream, type Script } from '../support/upstream.ts'
import type { Settings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

const page = readFileSync(join(import.meta.dirname, '../../../docs/guards.md'), 'utf8')
const [, listed = ''] = /^## Ten recipes\n([^]*?)\n## /m.exec(page) ?? []
const recipes = listed.split(/^\*\*(?=\d+\. )/m).slice(1)
const env = {
  DLP_SECRET: 'whsec_c2VjcmV0',
  DLP_AUTHORIZATION: 'Bearer a',
  APP_KEY: 'a-key-of-an-app-0123456789',
  GUARD_KEY: 'key',
  OPENAI_API_KEY: 'key'
}

interface Example {
  readonly request: string
  readonly sent?: string
  readonly refused?: string
  readonly answer?: string
  readonly given?: string
  readonly tool?: string
  readonly tool_sent?: string
}

function blocks (text: string, language: string): string[] {
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, 'gm'))].map(
    ([, block = '']) => block
  )
}

function json (value: unknown): Script {
  return { headers: { 'content-type': 'application/json' }, pieces: [JSON.stringify(value)] }
}

/** The services used by the recipes: each detects one secret. */
async function startServices (t: Test): Promise<string> {
  const { url, close } = await fakeUpstream(({ path, json: body }) => {
    if (path.startsWith('/beta/')) {
      const { texts } = body as { texts: readonly string[] }
      return json(
        texts.some(text => text.includes('Atlantis'))
          ? { action: 'BLOCKED', blocked_reason: 'a secret project' }
          : { action: 'NONE' }
      )
    }
    const { texts } = body as { texts: ReadonlyArray<{ text: string }> }
    t.notOk(texts.some(({ text }) => text.includes('4111')), 'a service sees the remaining text')
    return json({ texts: texts.map(({ text }) => text.replaceAll('Atlantis', '****')) })
  })
  t.teardown(close)
  return url
}

function stagesOf (t: Test, recipe: string, services: string): Settings['guards'] {
  const directory = t.testdir({})
  for (const code of blocks(recipe, 'js')) {
    const file = join(
      directory,
      /^\/\/ (\S+)/.exec(code)?.[1] ?? (t.fail('a module says where it is') as never)
    )
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(join(dirname(file), 'package.json'), '{"type":"module"}')
    writeFileSync(file, code)
  }
  const [yaml = ''] = blocks(recipe, 'yaml')
  writeFileSync(join(directory, 'headgate.yaml'), yaml.replaceAll(/https:\/\/\w+\.example\.com/g, services))
  return loadSettings({ env, cwd: directory }).guards
}

t.test('the ten recipes cover every kind of guard that has no section of its own', t => {
  t.equal(recipes.length, 10)
  const used = new Set([...page.matchAll(/^ {4}use: (\S+)$/gm)].map(([, use = '']) => guardKindOf(use)))
  t.same(Object.keys(guardKinds).filter(kind => !used.has(kind as keyof typeof guardKinds)), [])
  t.end()
})

t.test('for each kind of guard and each endpoint with texts the page says what is not inspected', t => {
  const rows = (heading: string): string[][] => {
    const [, table = ''] = new RegExp(`^\\| ${heading} \\|.*\\n\\| ---.*\\n((?:\\|.*\\n)*)`, 'm').exec(page) ?? []
    return table.trimEnd().split('\n').map(row => row.slice(2, -2).split(' | '))
  }
  const words = (cell = ''): string[] => [...cell.matchAll(/[\w/]+/g)].map(([word]) => word)
  const kinds = rows('Kind \\| Not inspected in requests')
  t.same(kinds.flatMap(([kind]) => words(kind)).toSorted(), Object.keys(guardKinds).toSorted())
  const endpoints = rows('Endpoints')
  const withTexts = endpointDocs.filter(({ method, path, request }) =>
    method === 'POST' && path.startsWith('/v1/') && request !== undefined)
  t.same(
    endpoints.flatMap(([paths]) => words(paths)).toSorted(),
    withTexts.map(({ path }) => path).toSorted()
  )
  for (const row of [...kinds, ...endpoints]) {
    t.ok(row.length === 3 && row.every(cell => cell !== ''), row.join(' | '))
  }
  t.end()
})

t.test('all configurations of the page are valid', t => {
  const all = blocks(page, 'yaml')
  t.ok(all.length > 14, `${all.length} configurations`)
  for (const yaml of all) {
    t.doesNotThrow(() => loadSettings({ env, cwd: t.testdir({ 'headgate.yaml': yaml }) }), yaml)
  }
  t.end()
})

for (const recipe of recipes) {
  t.test(recipe.split('\n', 1)[0] ?? '', async t => {
    const examples = blocks(recipe, 'json').map(block => JSON.parse(block) as Example)
    t.ok(examples.length > 0)
    const stages = stagesOf(t, recipe, await startServices(t))
    for (const { request, sent, refused, answer = 'Hello', given, tool, tool_sent: toolSent } of examples) {
      const upstream = await fakeUpstream(({ path, json: body }) => {
        if (path !== '/moderations') return { pieces: [chatAnswer(answer)] }
        return json({
          results: (body as { input: string[] }).input.map(text => ({
            categories: { violence: text.includes('knife') }
          }))
        })
      })
      t.teardown(upstream.close)
      const api = await testGateway(t, {
        providers: [
          upstreamAt(upstream.url, 'openai', 'openai', {
            quirks: { responsesApi: false },
            apiKey: new Secret('key')
          })
        ],
        guards: [...stages]
      })
      const call = { id: 'call_1', type: 'function', function: { name: 'search', arguments: '{}' } }
      const results =
        tool === undefined
          ? []
          : [
              { role: 'assistant', content: null, tool_calls: [call] },
              { role: 'tool', tool_call_id: 'call_1', content: tool }
            ]
      const response = await api.post('/v1/chat/completions', {
        model: 'openai/m',
        messages: [{ role: 'user', content: request }, ...results]
      })
      const body = (await response.json()) as {
        error?: { message: string }
        choices?: ReadonlyArray<{ message: { content: string } }>
      }
      t.equal(body.error?.message, refused)
      const last = upstream.requests.findLast(({ path }) => path === '/chat/completions')?.json as
        { messages: ReadonlyArray<{ content: string }> } | undefined
      if (sent !== undefined) t.equal(last?.messages[0]?.content, sent)
      if (toolSent !== undefined) t.equal(last?.messages.at(-1)?.content, toolSent)
      if (given !== undefined) t.equal(body.choices?.[0]?.message.content, given)
    }
  })
}
