/** Chromium, driven over its own protocol. HEADGATE_TEST_BROWSER is the path of the program. */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium, type Browser, type Page } from 'playwright-core'
import type { Test } from 'tap'

const executablePath = process.env['HEADGATE_TEST_BROWSER']

/** The reason why browser tests are skipped; false if there is a browser. */
export const noBrowser = executablePath === undefined && 'HEADGATE_TEST_BROWSER is not the path of Chromium'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export interface Visit {
  readonly page: Page
  /** Faults: page errors, violations of its policy, requests that leave the gateway. */
  readonly faults: readonly string[]
  /** Paths and sizes of what the page loaded from the gateway, as sent. */
  readonly loaded: ReadonlyMap<string, number>
}

/**
 * Starts Chromium, with a microphone that hears beeps.
 * @param more arguments of its command line
 */
export async function launch (t: Test, more: readonly string[] = []): Promise<Browser> {
  const browser = await chromium.launch({
    ...executablePath !== undefined && { executablePath },
    args: ['--no-sandbox', '--use-fake-device-for-media-stream', ...more]
  })
  t.teardown(async () => await browser.close())
  return browser
}

export interface VisitOptions {
  readonly width?: number
  readonly height?: number
  readonly dark?: boolean
  /** Such as `Pacific/Auckland`. */
  readonly timeZone?: string
}

/** Opens a page in a new browser context: no cookies, nothing cached. */
export async function visit (
  browser: Browser,
  origin: string,
  { width = 1280, height = 800, dark = false, timeZone }: VisitOptions = {}
): Promise<Visit> {
  const context = await browser.newContext({
    colorScheme: dark ? 'dark' : 'light',
    viewport: { width, height },
    ...timeZone !== undefined && { timezoneId: timeZone }
  })
  const page = await context.newPage()
  page.setDefaultTimeout(10_000)
  const faults: string[] = []
  const loaded = new Map<string, number>()
  page.on('pageerror', error => faults.push(`error: ${error.message}`))
  page.on('console', message => {
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      faults.push(`console: ${message.text()}`)
    }
  })
  page.on('request', request => {
    const url = request.url()
    if (!url.startsWith(origin) && !/^(?:data|blob):/.test(url)) faults.push(`request to ${url}`)
  })
  page.on('requestfinished', request => {
    const { pathname } = new URL(request.url())
    void request.sizes().then(
      ({ responseBodySize }) => loaded.set(pathname, responseBodySize),
      () => undefined
    )
  })
  return { page, faults, loaded }
}

interface Violation {
  readonly id: string
  readonly impact: string
  readonly nodes: ReadonlyArray<{ readonly html: string }>
}

/** Returns the serious accessibility faults that a program can find. */
export async function accessibilityFaults (page: Page): Promise<readonly string[]> {
  // A list that is being reloaded is pale, and regains its colours over some frames.
  await page.locator('.stale').first().waitFor({ state: 'detached' })
  await page.evaluate(
    'Promise.allSettled(document.getAnimations().flatMap(a => a instanceof CSSTransition ? a.finished : []))'
  )
  await page.evaluate(axe)
  // as its documentation says
  const violations = (await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)"
  )) as readonly Violation[]
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 160) ?? ''}`)
}

/** Returns by how many pixels the page, or a dialog on it, is wider than its window. */
export async function overflow (page: Page): Promise<number> {
  // of its layout
  return (await page.evaluate(
    "Math.max(document.documentElement.scrollWidth, ...[...document.querySelectorAll('dialog[open]')].map(dialog => dialog.getBoundingClientRect().right)) - innerWidth"
  )) as number
}
