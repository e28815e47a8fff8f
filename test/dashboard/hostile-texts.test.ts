/**
 * Texts from callers, providers, tools and users, on every page of a real browser that shows them.
 */

import { execFileSync } from 'node:child_process'
import t, { type Test } from 'tap'
import type { Page } from 'playwright-core'
import { adminGateway, type AdminGateway } from '../support/admin.ts'
import { launch, noBrowser, visit } from '../support/browser.ts'
import { providerSettings } from '../support/settings.ts'
import { CallBodyStore } from '../../lib/stores/call-body-store.ts'
import { eventStream, fakeUpstream } from '../support/upstream.ts'
import { eventually } from '../support/until.ts'
import { usageRowOf } from '../support/usage.ts'
import { Secret } from '../../lib/core/secret.ts'

/** Runs if parsed as markup, and leaves the gateway if used as an address. */
const markup = '<img src=//127.0.0.1:9/x onerror="document.title=`broken`">'

t.test('in a browser', { skip: noBrowser }, async t => {
  const browser = await launch(t)

  t.test('stored texts of calls and people are shown as plain text on every page', async t => {
    const place = await adminGateway(t, { providers: [providerSettings('openai', 'openai')] })
    const { key, project } = await addTexts(place)
    const { page, faults } = await visit(browser, place.api.url)
    await enter(page, place)
    for (const [path, shown] of [
      ['', false],
      ['?group=model', true],
      ['?group=tag', true],
      ['?group=end_user', true],
      ['?group=session', true],
      ['calls?period=month', true],
      ['calls/hostile', true],
      [`calls?period=month&tag=${encodeURIComponent(markup)}`, true],
      [`sessions/${encodeURIComponent(markup)}`, true],
      ['keys', true],
      [`keys/${key}`, true],
      ['projects', true],
      [`projects/${project}`, true],
      ['members', true],
      ['audit', true],
      ['profile', true],
      ['alerts', false],
      ['tools', false],
      ['models', false],
      [`playground?model=${encodeURIComponent(markup)}`, false],
      [`nowhere/${encodeURIComponent(markup)}`, false]
    ] as const) {
      await page.goto(`${place.api.url}/dashboard/${path}`)
      await page.locator('h1').first().waitFor()
      await page.locator('.skeleton').first().waitFor({ state: 'detached' })
      if (shown) await page.getByText('onerror=').first().waitFor({ state: 'attached' })
      await isUntouched(t, page, faults, path)
    }
    await page.goto(`${place.api.url}/dashboard/calls/hostile`)
    await page.getByRole('button', { name: 'Show', exact: true }).click()
    await page.locator('pre', { hasText: 'onerror=' }).first().waitFor()
    await isUntouched(t, page, faults, 'bodies')
    await page.context().close()
  })

  t.test('answers of providers are plain text in the playground', async t => {
    const upstream = await fakeUpstream({ headers: eventStream, pieces: hostileFrames() })
    t.teardown(upstream.close)
    const place = await adminGateway(t, { providers: [openaiAt(upstream.url)] })
    const { page, faults } = await visit(browser, place.api.url)
    await enter(page, place)
    await page.goto(`${place.api.url}/dashboard/playground?model=openai/gpt-4o`)
    await page.getByRole('textbox', { name: 'Message' }).fill(markup)
    await page.keyboard.press('Enter')
    await page.locator('.answer-foot').waitFor()
    t.match(await page.locator('.answer').textContent(), 'onerror', 'the answer is shown')
    t.same(
      await page.evaluate("[...document.querySelectorAll('.markdown a')].map(link => link.getAttribute('href'))"),
      ['http://127.0.0.1:9/y', 'https://web.example/'],
      'web URLs are links'
    )
    await isUntouched(t, page, faults, 'playground')
    await page.context().close()
  })

  t.test('an image URL is shown as a link, an image or text', async t => {
    const pixel = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'
    const web = 'https://images.example/a.png'
    const texts = [
      'javascript:document.title="broken"', ' javascript:document.title="broken"',
      'JaVaScRiPt:document.title="broken"', 'data:text/html,<script>document.title="broken"</script>',
      'file:///etc/passwd', 'blob:null/x', 'vbscript:x', '//images.example/a.png', 'https:images.example'
    ]
    const upstream = await fakeUpstream({
      headers: { 'content-type': 'application/json' },
      pieces: [JSON.stringify({ created: 1, data: [web, pixel, ...texts].map(url => ({ url })) })]
    })
    t.teardown(upstream.close)
    const place = await adminGateway(t, { providers: [openaiAt(upstream.url)] })
    const { page, faults } = await visit(browser, place.api.url)
    await enter(page, place)
    await page.goto(`${place.api.url}/dashboard/playground?tab=images`)
    await eventually(
      async () => await page.getByLabel('Model', { exact: true }).inputValue(),
      model => model.startsWith('openai/'),
      'a model that draws',
      10_000
    )
    await page.getByRole('button', { name: 'Make the image', exact: true }).click()
    const made = page.locator('.made-images')
    await made.waitFor()
    const read = async (script: string): Promise<unknown> =>
      await page.evaluate(`[...document.querySelectorAll('.made-images ${script}`)
    t.same(await read("a')].map(link => link.getAttribute('href'))"), [web])
    t.same(await read("img')].map(image => image.getAttribute('src'))"), [pixel])
    t.same(await read("span')].map(span => span.textContent)"), texts)
    await isUntouched(t, page, faults, 'images')
    await page.context().close()
  })

  t.test('a model name cannot inject code into the examples of a key', async t => {
    const model = `x'"$(false);\\`
    const place = await adminGateway(t)
    const { send } = await place.user('owner')
    const key = (await send('POST /admin/v1/keys', { name: 'hostile', models: [model] })).body.key.id
    const { page, faults } = await visit(browser, place.api.url)
    await enter(page, place)
    await page.goto(`${place.api.url}/dashboard/keys/${key}`)
    const example = async (program: string): Promise<string> => {
      await page.getByRole('button', { name: program, exact: true }).click()
      return (await page.getByLabel(program, { exact: true }).textContent()) ?? ''
    }
    const printed = (script: string): string => execFileSync('sh', ['-c', script], { encoding: 'utf8' })
    const sent = printed(`curl () { for last; do :; done; printf %s "$last"; }\n${await example('curl')}`)
    t.match(JSON.parse(sent), { model })
    t.equal(
      printed(`claude () { printf %s "$ANTHROPIC_MODEL"; }\n${await example('Claude Code')}`),
      model
    )
    for (const program of ['Python', 'TypeScript', 'dedalus_labs', 'Codex']) {
      t.match(await example(program), JSON.stringify(model), program)
    }
    t.same(faults, [])
    await page.context().close()
  })
})

/** Checks that no script has run, and that the page has not tried to load anything or violated its policy. */
async function isUntouched (t: Test, page: Page, faults: readonly string[], at: string): Promise<void> {
  t.match(await page.title(), /Headgate$/, `${at}: no script ran`)
  t.same(faults, [], `${at}: no request and no breach of the policy`)
  t.same(
    await page.evaluate(
      "[...document.querySelectorAll('[onerror], [href^=javascript], img[src*=\"127.0.0.1:9\"]')].length"
    ),
    0,
    `${at}: no element`
  )
}

function openaiAt (url: string) {
  return { ...providerSettings('openai', 'openai'), baseUrl: `${url}/v1`, apiKey: new Secret('sk-test') }
}

/** A stream in which every text is markup, with links whose schemes run code or leave the page. */
function hostileFrames (): string[] {
  const head = { id: markup, object: 'chat.completion.chunk', created: 1, model: markup }
  const chunk = (delta: unknown, finish: string | null = null): string =>
    `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
  const links = ['javascript:alert(1)', 'data:text/html,x', 'https://web.example/'].map(
    (url, index) => `[link ${index}](${url})`
  )
  return [
    chunk({ role: 'assistant', content: `${markup}\n\n# ${markup}\n\n- ${markup}\n\n\`\`\`${markup}\n` }),
    chunk({ content: `${markup}\n\`\`\`\n` }),
    chunk({ content: `\n![x](http://127.0.0.1:9/y) ${links.join(' ')}` }),
    chunk({
      tool_calls: [
        {
          index: 0,
          id: markup,
          type: 'function',
          function: { name: markup, arguments: JSON.stringify({ [markup]: markup }) }
        }
      ]
    }),
    chunk({}, 'tool_calls'),
    'data: [DONE]\n\n'
  ]
}

/** Stores markup in every text field of a call, a key, a project and a user. */
async function addTexts ({ user, database, admin }: AdminGateway): Promise<{ key: string, project: string }> {
  const { send, user: owner } = await user('owner')
  await admin.accounts.users.update(owner.id, { name: markup })
  await admin.accounts.sessions.create(owner.id, { address: markup, userAgent: markup }, true)
  const project = (await send('POST /admin/v1/projects', { name: markup })).body.id
  const key = (await send('POST /admin/v1/keys', { name: markup, project_id: project })).body.key.id
  await send('POST /admin/v1/admin-keys', { name: markup, role: 'viewer' })
  const route = { model: markup, provider: markup, reason: markup }
  await database.insertUsage([
    usageRowOf(1, {
      call_id: 'hostile',
      at_ms: Date.now() - 1000,
      key_id: key,
      outcome: 'error',
      status: 502,
      error_code: markup,
      requested_model: markup,
      model: markup,
      provider: markup,
      image_size: markup,
      image_quality: markup,
      end_user: markup,
      session: markup,
      tags: JSON.stringify([markup]),
      metadata: JSON.stringify({ [markup]: markup }),
      findings: JSON.stringify([{ stage: markup, point: 'request', action: 'mask', count: 1 }]),
      steps: JSON.stringify({
        requests: [{ ...route, at_ms: 1, took_ms: 1 }],
        tools: [{ server: markup, tool: markup, at_ms: 1, took_ms: 1, outcome: 'error' }],
        candidates: [route],
        skipped: [route],
        refused_by: markup,
        upstream_request_id: markup,
        error_message: markup
      })
    })
  ])
  const body = {
    media_type: 'application/json',
    size_bytes: 10,
    text: JSON.stringify({ model: markup, messages: [{ role: markup, content: markup }] }),
    truncated: false,
    redacted: false
  }
  await new CallBodyStore(database).add({
    id: 'row-1',
    project_id: project,
    readable_by: 'member',
    expires_at_ms: Date.now() + 3_600_000,
    state: 'kept',
    request: body,
    answer: { ...body, media_type: 'text/html', text: markup }
  })
  return { key, project }
}

/** Signs the owner in. */
async function enter (page: Page, { api, admin }: AdminGateway): Promise<void> {
  const { token } = await admin.accounts.createOwnerLink()
  await page.goto(`${api.url}/dashboard/#/link/${token}`)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.locator('main#content').waitFor()
}
