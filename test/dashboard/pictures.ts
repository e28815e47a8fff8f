/** Makes the pictures of the README: `UPDATE_PICTURES=1 npm test -- build/test/dashboard/page.test.js`. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import sharp from 'sharp'
import type { AdminGateway } from '../support/admin.ts'
import { visit } from '../support/browser.ts'

const docs = join(import.meta.dirname, '../../../docs')
const size = { width: 1280, height: 760 }

const story = 'Describe the lighthouse in two sentences. [sandbox: words=45]'
const examples = [
  { name: 'Staging', limits: { budget: { usd: 20, per: 'month' } } },
  { name: 'Claude Code', models: ['anthropic/*'], limits: { budget: { usd: 50, per: 'month' } } },
  { name: 'Nightly evaluation', limits: { concurrent_calls: 4 } }
]

/** @param enter signs the owner in */
export async function takePictures (browser: Browser, gateway: AdminGateway, enter: (page: Page) => Promise<void>): Promise<void> {
  const { url } = gateway.api
  const { send } = await gateway.user('owner')
  for (const example of examples) await send('POST /admin/v1/keys', example)

  const { page: light } = await visit(browser, url, size)
  await enter(light)
  await light.goto(`${url}/dashboard/keys`)
  await light.getByRole('link', { name: 'Staging' }).waitFor()
  await light.getByRole('button', { name: 'Create key' }).click()
  const dialog = light.getByRole('dialog')
  await dialog.getByLabel('Name').fill('Production')
  await dialog.getByRole('button', { name: 'Create key' }).click()
  await dialog.getByRole('button', { name: 'Python' }).click()
  await save(light, 'dashboard-keys')
  await light.context().close()

  const { page: dark } = await visit(browser, url, { ...size, dark: true })
  await enter(dark)
  await dark.goto(`${url}/dashboard/playground?model=sandbox/thinker`)
  await dark.getByRole('button', { name: 'Compare' }).first().click()
  await dark.getByLabel('Model', { exact: true }).nth(1).fill('sandbox/story')
  await dark.getByRole('textbox', { name: 'Message' }).fill(story)
  await dark.keyboard.press('Enter')
  await dark.locator('.answer-foot').nth(1).waitFor()
  await save(dark, 'dashboard-playground')
  await dark.context().close()
}

async function save (page: Page, name: string): Promise<void> {
  writeFileSync(join(docs, `${name}.webp`), await sharp(await page.screenshot()).webp({ quality: 88 }).toBuffer())
}
