/**
 * Makes the pictures of the README: `HEADGATE_TEST_BROWSER=/usr/bin/chromium UPDATE_PICTURES=1 npm test --
 * build/test/dashboard/page.test.js`.
 */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import sharp from 'sharp'
import type { AdminGateway } from '../support/admin.ts'
import { visit } from '../support/browser.ts'
import { sampleUsage } from './sample-data.ts'

const docs = join(import.meta.dirname, '../../../docs')
const size = { width: 1280, height: 760 }

const message = 'Describe the lighthouse in two sentences. [sandbox: words=45]'

/** @param enter signs the owner in */
export async function takePictures (
  browser: Browser,
  gateway: AdminGateway,
  enter: (page: Page) => Promise<void>
): Promise<void> {
  const { url } = gateway.api
  await gateway.database.insertUsage(sampleUsage(Date.now()))

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
  writeFileSync(
    join(docs, `${name}.webp`),
    await sharp(await page.screenshot())
      .webp({ quality: 88 })
      .toBuffer()
  )
}
