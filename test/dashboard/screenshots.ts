/**
 * Takes screenshots of every page, in both themes and at common widths, for review:
 * `HEADGATE_TEST_BROWSER=/usr/bin/chromium SCREENSHOTS=DIR npm test -- build/test/dashboard/page.test.js`.
 */

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import type { Test } from 'tap'
import { configuredGateway } from '../support/configured.ts'
import { visit } from '../support/browser.ts'
import { startToolServer } from '../support/tool-server.ts'
import { adminGateway, type AdminGateway } from '../support/admin.ts'
import { providerSettings } from '../support/settings.ts'
import { addLongNames, fillGateway } from './sample-data.ts'
import type { ProviderSettings } from '../../lib/core/settings.ts'

type Enter = (page: Page, gateway: AdminGateway) => Promise<void>

/** A page, and the steps before its screenshot. */
type Shot = readonly [name: string, path: string, act?: (page: Page) => Promise<void>]

const sizes = [
  { width: 360, height: 740 },
  ...[768, 1024, 1280, 1366, 1536].map(width => ({ width, height: 800 })),
  { width: 2560, height: 1400 }
]
const plain = { headers: {}, args: [], env: {}, shared: false }

const busy: readonly Shot[] = [
  ['overview', ''],
  ['overview-by-key', '?split=group&group=key'],
  [
    'overview-hover',
    '',
    async page => {
      await page.locator('.chart .u-over').first().hover()
      await page.locator('.chart-tip').waitFor()
    }
  ],
  ['keys', 'keys'],
  [
    'key-new',
    'keys?new',
    async page => {
      await page.getByText('Permissions').click()
    }
  ],
  [
    'key-shown',
    'keys?new',
    async page => {
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill(`Key ${Math.random()}`)
      await dialog.getByRole('button', { name: 'Create key' }).click()
      await dialog.getByText('Copy it now').waitFor()
    }
  ],
  [
    'key',
    'keys',
    async page => {
      await openRow(page, 'Nightly evaluation')
    }
  ],
  [
    'key-menu',
    'keys',
    async page => {
      await page.getByRole('button', { name: 'Actions for ci' }).click()
      await page.getByRole('menuitem').first().waitFor()
    }
  ],
  ['calls', 'calls'],
  ['calls-filters', 'calls?outcome=error&model=openai%2Fgpt-5'],
  ['calls-none', 'calls?search=nothing-like-this'],
  [
    'call',
    'calls',
    async page => {
      await page.locator('tbody tr').first().click()
      await page.getByRole('heading', { name: 'Timeline' }).waitFor()
    }
  ],
  [
    'call-bodies',
    'calls/row-0',
    async page => {
      await page.getByRole('button', { name: 'Show' }).click()
      await page.locator('.call-bodies').waitFor()
    }
  ],
  ['playground-empty', 'playground?model=anthropic%2Fclaude-sonnet-4-5'],
  [
    'playground-chat',
    'playground?model=sandbox%2Fthinker&tools=acme%2Ftickets',
    async page => {
      await ask(page, 'Which tickets are open? Echo them, please. [sandbox: rounds=1]')
      for (const fold of await page.locator('.answer summary').all()) await fold.click()
    }
  ],
  [
    'playground-compare',
    'playground?model=sandbox%2Fthinker',
    async page => {
      for (const name of ['sandbox/echo', 'sandbox/story']) {
        await page.getByRole('button', { name: 'Compare' }).first().click()
        await page.getByLabel('Model', { exact: true }).last().fill(name)
      }
      await ask(page, 'Say something of forty words. [sandbox: words=40]')
    }
  ],
  [
    'playground-error',
    'playground?model=sandbox%2Fecho',
    async page => {
      await ask(page, '[sandbox: status=503] Hello')
    }
  ],
  [
    'playground-route',
    'playground?model=sandbox%2Fecho',
    async page => {
      await page.getByRole('button', { name: 'Route' }).click()
      await page.getByRole('dialog').locator('tbody tr td').first().waitFor()
    }
  ],
  [
    'playground-code',
    'playground?model=sandbox%2Fecho',
    async page => {
      await page.getByRole('button', { name: 'As code' }).click()
    }
  ],
  [
    'speech',
    'playground?tab=speech',
    async page => {
      await tryIt(page, 'sandbox/speaker', 'Speak')
    }
  ],
  ['transcription', 'playground?tab=transcription'],
  [
    'images',
    'playground?tab=images',
    async page => {
      await tryIt(page, 'sandbox/painter', 'Make the image')
    }
  ],
  [
    'embeddings',
    'playground?tab=embeddings',
    async page => {
      await tryIt(page, 'sandbox/embedding', 'Compare')
    }
  ],
  ['ocr', 'playground?tab=ocr'],
  ['models', 'models'],
  ['providers', 'models?tab=providers'],
  [
    'tools',
    'tools',
    async page => {
      await page.getByRole('button', { name: 'List tools' }).first().click()
      await page.locator('.fold summary').first().click()
    }
  ],
  ['projects', 'projects'],
  [
    'project',
    'projects',
    async page => {
      await openRow(page, 'Research')
    }
  ],
  [
    'project-new',
    'projects',
    async page => {
      await page
        .getByRole('button', { name: /project/i })
        .first()
        .click()
    }
  ],
  ['members', 'members'],
  ['audit', 'audit'],
  ['profile', 'profile'],
  ['not-found', 'nowhere'],
  [
    'sign-in',
    'profile',
    async page => {
      if (await page.getByRole('button', { name: 'Menu' }).isVisible()) {
        await page.getByRole('button', { name: 'Menu' }).click()
      }
      await page.getByRole('button', { name: 'Sign out' }).click()
      // A gateway without any password explains how to sign in.
      await page.getByRole('heading', { name: /Sign in to Headgate|Welcome to Headgate/ }).waitFor()
    }
  ]
]

const fresh: readonly Shot[] = [
  ['empty-overview', ''],
  ['empty-keys', 'keys'],
  ['empty-calls', 'calls'],
  ['empty-tools', 'tools'],
  ['empty-projects', 'projects/default'],
  ['empty-audit', 'audit?action=nothing'],
  [
    'empty-live',
    'calls',
    async page => {
      await page.getByRole('button', { name: 'Follow live' }).click()
    }
  ],
  ['configuration', 'configuration'],
  [
    'configuration-all',
    'configuration',
    async page => {
      await page.getByRole('button', { name: 'All', exact: true }).click()
    }
  ],
  [
    'configuration-file',
    'configuration?tab=file',
    async page => {
      await page.getByRole('textbox', { name: 'Configuration' }).pressSequentially('\nusage:\n  k')
    }
  ],
  [
    'configuration-review',
    'configuration?tab=file',
    async page => {
      await page
        .getByRole('textbox', { name: 'Configuration' })
        .fill('# ours\nusage:\n  keep_days: 60\nlimits:\n  open_calls: 500\n')
      await page.getByRole('button', { name: 'Review changes' }).click()
      await page.getByRole('region', { name: 'Difference' }).waitFor()
    }
  ],
  [
    'configuration-problem',
    'configuration?tab=file',
    async page => {
      await page.getByRole('textbox', { name: 'Configuration' }).fill('# ours\nusage:\n  keep_dayz: 60\n')
      await page.getByRole('button', { name: 'Review changes' }).click()
      await page.getByText('usage.keep_dayz').first().waitFor()
    }
  ],
  ['configuration-reloads', 'configuration?tab=reloads']
]

/** @param only names of screenshots, separated by commas; empty: all */
export async function takeScreenshots (
  t: Test,
  browser: Browser,
  folder: string,
  only: string,
  enter: Enter
): Promise<void> {
  mkdirSync(folder, { recursive: true })
  await t.test('of a busy gateway', async t => {
    const { url } = await startToolServer(t)
    const gateway = await adminGateway(t, {
      providers: providers(),
      toolServers: [
        { slug: 'acme/tickets', url, ...plain },
        { slug: 'acme/warehouse', url: 'http://127.0.0.1:9/mcp', ...plain }
      ]
    })
    await fillGateway(gateway)
    await addLongNames(gateway)
    await photograph(t, gateway, busy)
  })
  await t.test(
    'of a new one',
    async t =>
      await photograph(t, await configuredGateway(t, '# ours\nusage:\n  keep_days: 30\n', true), fresh)
  )

  async function photograph (t: Test, gateway: AdminGateway, shots: readonly Shot[]): Promise<void> {
    const wanted = shots.filter(([name]) => only === '' || only.split(',').includes(name))
    for (const { width, height } of sizes) {
      for (const dark of [false, true]) {
        const { page } = await visit(browser, gateway.api.url, { width, height, dark })
        await enter(page, gateway)
        for (const [name, path, act] of wanted) {
          await page.goto(`${gateway.api.url}/dashboard/${path}`)
          await page.locator('h1').first().waitFor()
          await page.locator('.skeleton').first().waitFor({ state: 'detached' })
          // If a step does not apply to a page, its screenshot is taken without it.
          await act?.(page).catch((error: unknown) => t.comment(`${name} at ${width}: ${String(error)}`))
          await page.screenshot({
            path: join(folder, `${name}-${width}-${dark ? 'dark' : 'light'}.png`),
            fullPage: !path.startsWith('playground'),
            animations: 'disabled'
          })
        }
        await page.context().close()
      }
    }
  }
}

/** Returns providers with their catalogues, which are never called, and the sandbox. */
function providers (): ProviderSettings[] {
  const real = (['anthropic', 'openai', 'google', 'mistral'] as const).map(kind =>
    providerSettings(kind, kind)
  )
  return [
    ...real,
    { ...providerSettings('sandbox', 'sandbox'), baseUrl: 'sandbox:', options: { words_per_second: 0 } }
  ]
}

async function openRow (page: Page, name: string): Promise<void> {
  await page.getByRole('link', { name }).first().click()
  await page.getByRole('heading', { level: 1, name }).waitFor()
  await page.locator('.skeleton').first().waitFor({ state: 'detached' })
}

async function ask (page: Page, message: string): Promise<void> {
  const answers = await page.locator('.pane').count()
  await page.getByRole('textbox', { name: 'Message' }).fill(message)
  await page.keyboard.press('Enter')
  await page.locator('.answer-foot').nth(answers - 1).waitFor()
}

async function tryIt (page: Page, model: string, button: string): Promise<void> {
  await page.getByLabel('Model', { exact: true }).fill(model)
  await page.getByRole('button', { name: button, exact: true }).click()
  await page.locator('.card').nth(1).locator('img, audio, table').first().waitFor()
}
