/** Makes the pictures of the README: `HEADGATE_TEST_BROWSER=/usr/bin/chromium UPDATE_PICTURES=1 npm test -- build/test/dashboard/page.test.js`. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import sharp from 'sharp'
import type { AdminGateway } from '../support/admin.ts'
import { visit } from '../support/browser.ts'
import { usageRowOf } from '../support/usage.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'

const docs = join(import.meta.dirname, '../../../docs')
const size = { width: 1280, height: 760 }

const message = 'Describe the lighthouse in two sentences. [sandbox: words=45]'

const hourMs = 3_600_000
const models = [
  { model: 'anthropic/claude-sonnet-4-5', provider: 'anthropic', nanoUsd: 21e6, ms: 2400, share: 5 },
  { model: 'openai/gpt-5', provider: 'openai', nanoUsd: 14e6, ms: 1900, share: 4 },
  { model: 'google/gemini-2.5-pro', provider: 'google', nanoUsd: 11e6, ms: 1600, share: 3 },
  { model: 'openai/gpt-5-mini', provider: 'openai', nanoUsd: 2e6, ms: 900, share: 3 },
  { model: 'mistral/mistral-large-latest', provider: 'mistral', nanoUsd: 5e6, ms: 1100, share: 1 }
]

/** Two days of calls with a rhythm, the same each time. */
function usage (nowMs: number): UsageRow[] {
  const rows: UsageRow[] = []
  for (let hour = 0; hour < 48; hour++) {
    const rhythm = 1.3 + Math.sin(hour / 24 * 2 * Math.PI) + (hour < 24 ? 0.25 : 0) + 0.3 * Math.sin(hour * 2.3)
    for (const { model, provider, nanoUsd, ms, share } of models) {
      const calls = Math.max(1, Math.round(share * rhythm * (1 + 0.3 * Math.sin(hour * share))))
      for (let index = 0; index < calls; index++) {
        const spread = 0.6 + (index * 7 + hour * 3) % 10 / 8
        const failed = (index + hour * 5) % 37 === 11
        rows.push(usageRowOf(rows.length, {
          key_id: 'key_a', at_ms: nowMs - hour * hourMs - index * 1000, model, provider, endpoint: 'chat', outcome: failed ? 'error' : 'ok', status: failed ? 502 : 200,
          prompt_tokens: Math.round(1800 * spread), completion_tokens: Math.round(420 * spread), cost_nano_usd: Math.round(nanoUsd * spread), duration_ms: Math.round(ms * spread), first_byte_ms: Math.round(ms * spread / 5)
        }))
      }
    }
  }
  return rows
}

/** @param enter signs the owner in */
export async function takePictures (browser: Browser, gateway: AdminGateway, enter: (page: Page) => Promise<void>): Promise<void> {
  const { url } = gateway.api
  await gateway.database.insertUsage(usage(Date.now()))

  const { page: light } = await visit(browser, url, size)
  await enter(light)
  await light.goto(`${url}/dashboard/profile`)
  await light.getByLabel('Name').fill('Ada Lovelace')
  await light.getByRole('button', { name: 'Save' }).click()
  await light.getByText('Saved').waitFor()
  await light.goto(`${url}/dashboard/`)
  await light.locator('.chart canvas').first().waitFor()
  await save(light, 'dashboard-overview')
  await light.context().close()

  const { page: dark } = await visit(browser, url, { ...size, dark: true })
  await enter(dark)
  await dark.goto(`${url}/dashboard/playground?model=sandbox/thinker`)
  await dark.getByRole('button', { name: 'Compare' }).first().click()
  await dark.getByLabel('Model', { exact: true }).nth(1).fill('sandbox/story')
  await dark.getByRole('textbox', { name: 'Message' }).fill(message)
  await dark.keyboard.press('Enter')
  await dark.locator('.answer-foot').nth(1).waitFor()
  await save(dark, 'dashboard-playground')
  await dark.context().close()
}

async function save (page: Page, name: string): Promise<void> {
  writeFileSync(join(docs, `${name}.webp`), await sharp(await page.screenshot()).webp({ quality: 88 }).toBuffer())
}
