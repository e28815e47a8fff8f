/**
 * The dashboard in a real browser, from the first sign-in to the first call, and every page of it.
 */

import { mkdirSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Page } from 'playwright-core'
import { adminGateway, type AdminGateway, type Person } from '../support/admin.ts'
import { configuredGateway } from '../support/configured.ts'
import {
  accessibilityFaults,
  launch,
  noBrowser,
  overflow,
  visit,
  type VisitOptions,
  type Visit
} from '../support/browser.ts'
import { client, identityProvider } from '../support/identity-provider.ts'
import { hashPassword } from '../../lib/accounts/passwords.ts'
import { Secret } from '../../lib/core/secret.ts'
import { ExportStore } from '../../lib/exports/export-store.ts'
import { CallBodyStore } from '../../lib/stores/call-body-store.ts'
import { countedLimitNames, countedLimits } from '../../schemas/config/counted-limits.ts'
import { providerSettings, settings } from '../support/settings.ts'
import { httpServer } from '../support/http-server.ts'
import { startToolServer } from '../support/tool-server.ts'
import { wavOf } from '../support/forms.ts'
import { eventually, until } from '../support/until.ts'
import { withResolvers } from '../support/with-resolvers.ts'
import { usageRowOf } from '../support/usage.ts'

const sandbox = {
  ...providerSettings('sandbox', 'sandbox'),
  baseUrl: 'sandbox:',
  options: { words_per_second: 0 }
}
const firstPaintBytes = 150 * 1024

/** A single pixel. */
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64'
)

/** Text that would run if it were parsed as markup. */
const markup = '<img src=x onerror="document.title=\'broken\'">'

t.test('in a browser', { skip: noBrowser }, async t => {
  const gateway = await adminGateway(t, { providers: [sandbox] })
  const { url } = gateway.api
  const browser = await launch(t)

  t.test('from the one-time link of the first start to the first call with a new key', async t => {
    const { page, faults, loaded } = await visit(browser, url)
    const { token } = await gateway.admin.accounts.createOwnerLink()
    await page.goto(`${url}/`)
    await page.getByText('No user has signed in yet').waitFor()
    await page.goto(`${url}/dashboard/#/link/${token}`)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('You came by a one-time link').waitFor()
    t.notMatch(page.url(), token, 'the token is removed from the address')

    await page.getByRole('link', { name: 'Keys' }).click()
    await page.getByRole('button', { name: 'Create key' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill(markup)
    await dialog.getByLabel('Budget').fill('5')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    await dialog.getByText('Copy it now').waitFor()
    const secret = (await dialog.locator('.secret code').textContent()) ?? ''
    t.match(await dialog.locator('pre').textContent(), `Authorization: Bearer ${secret}`)
    const call = async (): Promise<number> =>
      (
        await fetch(`${url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'sandbox/echo', messages: 'Hello' })
        })
      ).status
    t.equal(await call(), 200, 'the key works')

    await dialog.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('link', { name: markup }).waitFor()
    t.equal(await page.title(), 'Keys · Headgate', 'a name with markup is shown as text')
    await page.getByRole('button', { name: `Actions for ${markup}` }).click()
    await page.getByRole('menuitem', { name: 'Revoke' }).click()
    await page.getByRole('button', { name: 'Revoke key' }).click()
    await page.getByText('Key revoked').waitFor()
    t.equal(await call(), 401, 'the revoked key does not work')
    t.same(faults, [])

    const first = [...loaded]
      .filter(([path]) => !/usage|chunk/.test(path) || path.includes('main'))
      .filter(([path]) => path.startsWith('/dashboard'))
    const bytes = first.reduce((sum, [, size]) => sum + size, 0)
    t.comment(`before the first paint: ${bytes} bytes in ${first.length} files`)
    t.ok(bytes > 10_000 && bytes < firstPaintBytes, `${bytes} bytes`)
    await page.context().close()
  })

  t.test('a password set on the page signs in, and a wrong one does not', async t => {
    const { page, faults } = await visit(browser, url)
    await enter(page, gateway)
    await page.getByRole('link', { name: 'Secure your account' }).click()
    await page.getByRole('textbox', { name: 'Email' }).first().fill('owner@example.com')
    await page.getByLabel('New password').fill('a long enough sentence')
    await page.getByRole('button', { name: 'Set password' }).click()
    await page.getByText('Password set').waitFor()
    t.equal(
      await page.getByRole('textbox', { name: 'Email' }).last().inputValue(),
      'owner@example.com',
      'the profile shows the new address at once'
    )
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to Headgate' }).waitFor()
    await page.getByLabel('Email').fill('owner@example.com')
    await page.getByLabel('Password').fill('another long sentence')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('Password').fill('a long enough sentence')
    await page.keyboard.press('Enter')
    await page.getByRole('navigation', { name: 'Main' }).waitFor()
    t.same(faults, [])
    await page.context().close()
  })

  t.test('a passkey added on the page signs in until it is removed', async t => {
    const place = url.replace('127.0.0.1', 'localhost')
    const { page, faults } = await visit(browser, place)
    const device = await page.context().newCDPSession(page)
    await device.send('WebAuthn.enable')
    await device.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true
      }
    })
    await enter(page, gateway, place)
    await page.goto(`${place}/dashboard/profile`)
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.getByText('Passkey added').waitFor()
    await page.getByRole('table', { name: 'Passkeys' }).getByText('localhost').waitFor()

    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.getByRole('navigation', { name: 'Main' }).waitFor()
    await page.goto(`${place}/dashboard/profile`)
    const passkeys = page.getByRole('table', { name: 'Passkeys' })
    await passkeys.getByText('just now').first().waitFor()
    t.equal(await passkeys.getByText('Never').count(), 0, 'its use is recorded')

    await page.getByRole('button', { name: /^Remove / }).click()
    await page.getByRole('button', { name: 'Remove passkey' }).click()
    await page.getByText('No passkeys yet').waitFor()
    t.same(faults, [])
    await page.context().close()
  })

  t.test(
    'an OpenID Connect user signs in, and one of another domain is refused with a reason',
    async t => {
      const provider = await identityProvider(t)
      const { api } = await adminGateway(t, {
        accounts: {
          oidc: {
            name: 'Example',
            issuer: provider.issuer,
            clientId: client.id,
            clientSecret: new Secret(client.secret),
            scopes: ['openid', 'email', 'profile'],
            groupsClaim: 'groups',
            roles: {},
            allowedDomains: ['example.com']
          }
        }
      })
      provider.allow(`${api.url}/admin/v1/sign-in/oidc/callback`)
      provider.people.set('ada', { email: 'ada@example.com', email_verified: true, name: markup })
      provider.people.set('eve', { email: 'eve@evil.example', email_verified: true })
      for (const [subject, text] of [
        ['eve', 'People with your email address cannot sign in here'],
        ['ada', 'Overview']
      ] as const) {
        provider.signsIn = subject
        const { page } = await visit(browser, api.url)
        await page.goto(`${api.url}/dashboard/`)
        await page.getByRole('link', { name: 'Continue with Example' }).click()
        await page.getByText(text).first().waitFor()
        if (subject === 'ada') await page.getByText(markup).first().waitFor()
        const title = subject === 'ada' ? 'Overview · Headgate' : 'Sign in · Headgate'
        await eventually(
          async () => await page.title(),
          now => now === title,
          `the title ${title}`,
          10_000
        )
        await page.context().close()
      }
    }
  )

  t.test(
    'a cookie read by a program on another port is useless, and a new tab stays signed in',
    async t => {
      const caught = withResolvers<string>()
      const other = await httpServer(t, (request, response) => {
        caught.resolve(request.headers.cookie ?? '')
        response.end()
      })
      const { page, faults } = await visit(browser, url)
      await enter(page, gateway)
      await page.goto(`${url}/dashboard/calls`)
      await page.getByRole('button', { name: 'Follow live' }).click()
      await page.getByText('Waiting for calls').waitFor()
      await page.goto(`${url}/dashboard/`)
      const download = page.waitForEvent('download')
      await page.getByRole('link', { name: 'Download as CSV' }).click()
      t.match(readFileSync(await (await download).path(), 'utf8'), /^time,/)
      const tab = await page.context().newPage()
      await tab.goto(`${url}/dashboard/keys`)
      await tab.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
      t.same(faults, [])

      await tab.goto(`${other.url}/admin/x`)
      const cookie = await caught.promise
      t.match(cookie, /^headgate_session=[\w-]{43}$/, 'the browser sends it there')
      t.equal((await gateway.send('GET /admin/v1/session', undefined, { cookie })).status, 401)
      t.equal((await gateway.send('POST /admin/v1/admin-keys', { name: 'x' }, { cookie })).status, 403)
      await tab.goto(`${url}/dashboard/#/signed-in/${'A'.repeat(43)}`)
      await tab.reload()
      const overview = tab.getByRole('link', { name: 'Overview' })
      await overview.waitFor()
      t.ok(await overview.isVisible(), 'a token that somebody else put into an address is not taken')
      await page.context().close()
    }
  )

  t.test(
    'pictures for the README',
    { skip: process.env['UPDATE_PICTURES'] === undefined && 'made with UPDATE_PICTURES=1' },
    async () => {
      const { takePictures } = await import('./pictures.ts')
      await takePictures(browser, gateway, async page => await enter(page, gateway))
    }
  )

  t.test(
    'screenshots for review',
    { skip: process.env['SCREENSHOTS'] === undefined && 'made with SCREENSHOTS=DIR' },
    async t => {
      const { takeScreenshots } = await import('./screenshots.ts')
      await takeScreenshots(
        t,
        browser,
        process.env['SCREENSHOTS'] ?? '',
        process.env['SCREENSHOTS_ONLY'] ?? '',
        enter
      )
    }
  )

  t.test(
    'the overview and the calls page show recorded calls, with caller text as plain text',
    async t => {
      const { page, faults } = await visit(browser, url)
      await enter(page, gateway)
      const atMs = Date.now() - 60_000
      await gateway.database.insertUsage([
        usageRowOf(9001, {
          call_id: 'request-one',
          key_id: 'key_a',
          at_ms: atMs,
          model: markup,
          provider: 'a',
          endpoint: 'chat',
          outcome: 'ok',
          status: 200,
          prompt_tokens: 1200,
          completion_tokens: 34,
          cost_nano_usd: 25e8,
          duration_ms: 1500,
          first_byte_ms: 300
        }),
        usageRowOf(9002, {
          call_id: 'request-two',
          key_id: 'key_a',
          at_ms: atMs,
          model: 'b/2',
          provider: 'b',
          endpoint: 'chat',
          outcome: 'error',
          status: 502,
          error_code: 'upstream_error',
          cost_nano_usd: null,
          duration_ms: 90
        }),
        usageRowOf(9000, { key_id: 'key_a', at_ms: atMs - 30 * 3_600_000, model: 'b/2' })
      ])
      await page.goto(`${url}/dashboard/`)
      await page
        .getByRole('table', { name: 'Breakdown' })
        .or(page.getByRole('region', { name: 'Breakdown' }))
        .getByText(markup)
        .waitFor()
      t.match(await page.locator('.stats').textContent(), /Spend.*\$\d/)
      t.ok((await page.locator('.chart canvas').count()) >= 6)

      const download = page.waitForEvent('download')
      await page.getByRole('link', { name: 'Download as CSV' }).click()
      t.equal(await (await download).failure(), null, 'the numbers are downloaded')
      const chart = page.locator('.chart .u-over').first()
      await chart.hover()
      await page.locator('.chart-tip').waitFor()
      const { x, y, width, height } = (await chart.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
      await page.mouse.move(x + width / 2, y + height / 2)
      await page.mouse.down()
      await page.mouse.move(x + width - 2, y + height / 2, { steps: 4 })
      await page.mouse.up()
      await page.waitForURL(/from=\d+&until=\d+/)
      await page.getByRole('button', { name: '24 hours' }).click()
      await page.waitForURL(address => !address.search.includes('from='))

      const calls = page.getByRole('group', { name: 'Calls', exact: true })
      await eventually(
        async () => await calls.getByRole('row').count(),
        rows => rows > 20,
        'the chart of 24 hours, which takes the place of the other'
      )
      // If the chart moves under a pointer at rest, the pointer leaves it, which ends the keyboard display.
      await page.mouse.move(0, 0)
      await calls.focus()
      for (const key of ['End', 'Shift+ArrowLeft', 'Shift+ArrowLeft']) await page.keyboard.press(key)
      await calls.locator('.chart-tip').waitFor()
      t.match(
        await calls.getByRole('status').textContent(),
        /^\w{3} \d+, \d\d:\d\d: Succeeded \d+, Errors \d+, Period before \d+$/,
        'the values are announced'
      )
      await page.keyboard.press('Enter')
      await page.waitForURL(/from=\d+&until=\d+/)
      const zoomed = new URL(page.url()).searchParams
      t.equal(Number(zoomed.get('until')) - Number(zoomed.get('from')), 3 * 3_600_000, 'three hours')
      await page.getByRole('button', { name: /\d\d:\d\d – .*\d\d:\d\d/ }).waitFor()
      await eventually(
        async () => await calls.getByRole('row').count(),
        rows => rows === 4,
        'the same as a table, with a row for each hour'
      )
      await page.getByRole('button', { name: '24 hours' }).click()
      await page.waitForURL(address => !address.search.includes('from='))

      await page.getByRole('link', { name: 'Calls' }).click()
      await page.getByRole('searchbox').fill('request-two')
      await page.locator('tbody tr').nth(1).waitFor({ state: 'detached' })
      await page.getByRole('cell', { name: 'upstream_error' }).waitFor()
      await page.getByRole('searchbox').fill('request-one')
      await page.getByText(markup).first().click()
      await page.getByRole('heading', { name: 'Timeline' }).waitFor()
      await page.locator('.call-grid').getByText('$2.5000').first().waitFor()
      await page.goto(`${url}/dashboard/calls/request-two`)
      await page.getByRole('alert').getByText('The provider failed to answer.').waitFor()
      await page.goBack()
      await page.getByRole('heading', { name: 'Timeline' }).waitFor()
      await page.getByText('They are not kept for this project').waitFor()

      await page.goto(`${url}/dashboard/calls`)
      await page.getByRole('button', { name: 'Follow live' }).click()
      await page.getByText('Waiting for calls').waitFor()
      const {
        body: { secret }
      } = await (await gateway.user('owner')).send('POST /admin/v1/keys', { name: 'Live' })
      t.equal(
        (
          await gateway.api.post(
            '/v1/chat/completions',
            { model: 'sandbox/story', messages: 'Hello' },
            { headers: { authorization: `Bearer ${secret}` } }
          )
        ).status,
        200
      )
      await page.locator('.live').getByText('sandbox/story').waitFor()
      t.same(faults, [])
      await page.context().close()
    }
  )

  t.test(
    'bodies of a call are shown on request to those who may read them, with markup as text',
    async t => {
      const row = usageRowOf(9003, { call_id: 'request-kept', at_ms: Date.now() - 30_000, model: 'b/2' })
      await gateway.database.insertUsage([row])
      const body = { media_type: 'application/json', size_bytes: 12_345, truncated: false, redacted: true }
      await new CallBodyStore(gateway.database).add({
        id: row.id,
        project_id: 'default',
        readable_by: 'admin',
        expires_at_ms: Date.now() + 60_000,
        state: 'kept',
        request: { ...body, text: JSON.stringify({ messages: [{ content: markup }] }) },
        answer: { ...body, text: `{"choices":["${markup.slice(0, 10)}`, truncated: true }
      })
      const { page, faults } = await visit(browser, url)
      await enter(page, gateway)
      await page.goto(`${url}/dashboard/calls/request-kept`)
      const acts = async (): Promise<number> =>
        (
          await gateway.database.query
            .selectFrom('audit')
            .select('id')
            .where('action', '=', 'call.read_bodies')
            .execute()
        ).length
      const before = await acts()
      await page.getByText('will be in the audit log').waitFor()
      t.equal(await acts(), before)
      await page.getByRole('button', { name: 'Show' }).click()
      const request = page.getByLabel('request', { exact: true })
      await request.getByText(JSON.stringify(markup)).waitFor()
      t.match(await request.textContent(), /^\{\n {2}"messages": \[\n {4}\{\n {6}"content": /)
      t.match(await page.locator('.call-bodies').textContent(), /12\.3 KB.*redacted.*Response.*cut off/s)
      t.equal(await page.getByRole('button', { name: /Copy (?:request|response)$/ }).count(), 2)
      t.equal(await acts(), before + 1)
      t.same(await accessibilityFaults(page), [])
      t.same(faults, [])
      const member = await gateway.user('member', ['default'])
      await page.context().clearCookies()
      await become(page, member)
      await page.reload()
      await page.getByRole('heading', { name: 'Timeline' }).waitFor()
      t.equal(await page.getByRole('heading', { name: 'Request and response' }).count(), 0)
      await page.context().close()
    }
  )

  t.test(
    'rights of a key can be chosen, shown and changed, and an empty list allows nothing',
    async t => {
      const { page, faults } = await visit(browser, url)
      await enter(page, gateway)
      await page.goto(`${url}/dashboard/keys?new`)
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill('Narrow')
      await dialog.getByLabel('Budget').fill('5')
      await dialog.getByLabel('Shorten answers').uncheck()
      await dialog.getByText('Permissions').click()
      await dialog.getByRole('group', { name: 'Endpoints' }).getByText('Only these').click()
      await dialog.getByRole('combobox', { name: 'Endpoints' }).fill('chat,')
      const byUrl = dialog.getByLabel('Tool servers by URL')
      t.equal(await byUrl.isChecked(), true)
      await dialog.getByRole('group', { name: 'Tool servers' }).getByText('Only these').click()
      t.equal(await byUrl.isChecked(), false, 'a key without all MCP servers cannot name one by URL')
      await byUrl.check()
      await dialog.getByLabel('Files, containers and threads').check()
      t.same(await accessibilityFaults(page), [])
      await dialog.getByRole('button', { name: 'Create key' }).click()
      await dialog.getByRole('button', { name: 'Done' }).click()
      const { send } = await gateway.user('owner')
      const stored = async () => (await send('GET /admin/v1/keys?search=Narrow')).body.data[0]
      const made = await stored()
      t.match(made, {
        endpoints: ['chat'],
        models: null,
        mcp_servers: [],
        mcp_urls: true,
        provider_objects: true,
        limits: { budget: { usd: 5 }, strict: false }
      })

      await page.getByRole('link', { name: 'Narrow' }).click()
      await page.getByText('May exceed the budget').waitFor()
      t.match(
        await page.locator('.facts').first().textContent(),
        /Tool serversNone.*Tools by URLAllowed.*Provider objectsAllowed/s
      )
      await page.getByRole('button', { name: 'Actions for Narrow' }).click()
      await page.getByRole('menuitem', { name: 'Edit' }).click()
      await dialog.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Key saved').waitFor()
      t.same(
        { ...(await stored()), changes: 0 },
        { ...made, changes: 0 },
        'saving an unchanged form changes nothing'
      )
      t.same(faults, [])
      await page.context().close()
    }
  )

  t.test('the key form has every limit of the table, and the key page shows it', async t => {
    const { page, faults } = await visit(browser, url)
    await enter(page, gateway)
    await page.goto(`${url}/dashboard/keys?new`)
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Counted')
    const limits = countedLimitNames.map((name, place) => [name, 11 + place] as const)
    for (const [name, amount] of limits) {
      await dialog.getByLabel(countedLimits[name].label).fill(String(amount))
    }
    await dialog.getByRole('button', { name: 'Create key' }).click()
    await dialog.getByRole('button', { name: 'Done' }).click()
    const { send } = await gateway.user('owner')
    const stored = (await send('GET /admin/v1/keys?search=Counted')).body.data[0]
    t.same(stored.limits, Object.fromEntries(limits))
    await page.getByRole('link', { name: 'Counted' }).click()
    await page.getByText(countedLimits.requests_per_minute.label).first().waitFor()
    const facts = (await page.locator('.facts').allTextContents()).join('')
    for (const [name, amount] of limits) t.ok(facts.includes(`${countedLimits[name].label}${amount}`), name)
    t.same(faults, [])
    await page.context().close()
  })

  t.test('a key has several budgets with their own windows, and mistakes are shown at fields', async t => {
    const { page, faults } = await visit(browser, url)
    await enter(page, gateway)
    await page.goto(`${url}/dashboard/keys?new`)
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Windows')
    await dialog.getByLabel('Budget').fill('5')
    await dialog.getByLabel('Period', { exact: true }).selectOption('day')
    await dialog.getByLabel('Time zone').fill('Europe/Nowhere')
    const another = dialog.getByRole('button', { name: 'Add another' })
    await another.click()
    await dialog.getByLabel('Budget 2').fill('50')
    await dialog.getByLabel('Period 2').selectOption('every')
    await dialog.getByLabel('Length 2').fill('30d')
    await dialog.getByLabel('Beginning 2').fill('2030-01-15T00:00:00Z')
    await another.click()
    await dialog.getByLabel('Budget 3').fill('1')
    await dialog.getByRole('button', { name: 'Remove 3' }).click()
    await dialog.getByLabel('Allow models without a known price').check()
    t.same(await accessibilityFaults(page), [])
    await dialog.getByRole('button', { name: 'Create key' }).click()
    await dialog.getByText('is not a known time zone').first().waitFor()
    await dialog.getByLabel('Time zone').fill('Europe/Berlin')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    await dialog.getByRole('button', { name: 'Done' }).click()
    const { send } = await gateway.user('owner')
    const stored = async () => (await send('GET /admin/v1/keys?search=Windows')).body.data[0]
    const made = await stored()
    t.same(made.limits, {
      budgets: [
        { usd: 5, per: 'day', time_zone: 'Europe/Berlin', unpriced: 'allow' },
        { usd: 50, every: '30d', from: '2030-01-15T00:00:00Z', unpriced: 'allow' }
      ]
    })

    await page.getByRole('link', { name: 'Windows' }).click()
    await page.getByText('$5.00 a day (Europe/Berlin), $50.00 every 30d').waitFor()
    const save = async (): Promise<void> => {
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.waitFor({ state: 'detached' })
    }
    const edit = async (): Promise<void> => {
      await page.getByRole('button', { name: 'Actions for Windows' }).click()
      await page.getByRole('menuitem', { name: 'Edit' }).click()
    }
    await edit()
    await save()
    t.same((await stored()).limits, made.limits, 'saving an unchanged form changes nothing')
    await edit()
    await dialog.getByRole('button', { name: 'Remove the first' }).click()
    await save()
    t.same((await stored()).limits, { budget: made.limits.budgets[1] })
    t.same(
      faults.filter(fault => !fault.includes('422')),
      []
    )
    await page.context().close()
  })

  t.test('a form changes only what was changed in it: what others changed meanwhile stays', async t => {
    const { page, faults } = await visit(browser, url)
    await enter(page, gateway)
    const { send } = await gateway.user('owner')
    const key = (await send('POST /admin/v1/keys', { name: 'Shared' })).body.key
    const project = (await send('POST /admin/v1/projects', { name: 'Common' })).body
    const limits = { budget: { usd: 3, per: 'day' } }
    const dialog = page.getByRole('dialog')
    await page.goto(`${url}/dashboard/keys/${key.id}`)
    await page.getByRole('button', { name: 'Actions for Shared' }).click()
    await page.getByRole('menuitem', { name: 'Edit' }).click()
    await send(`POST /admin/v1/keys/${key.id}`, { limits, models: ['sandbox/echo'] })
    await dialog.getByLabel('Name').fill('Shared again')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    t.match((await send(`GET /admin/v1/keys/${key.id}`)).body, {
      name: 'Shared again', limits, models: ['sandbox/echo']
    })
    await page.goto(`${url}/dashboard/projects/${project.id}`)
    await page.getByRole('button', { name: 'Actions for Common' }).click()
    await page.getByRole('menuitem', { name: 'Edit' }).click()
    await send(`POST /admin/v1/projects/${project.id}`, { limits, models: ['sandbox/echo'] })
    await dialog.getByLabel('Name').fill('Common again')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    t.match((await send(`GET /admin/v1/projects/${project.id}`)).body, {
      name: 'Common again', limits, models: ['sandbox/echo']
    })
    t.same(faults, [])
    await page.context().close()
  })

  t.test('a name that begins like a suggested one can be typed', async t => {
    const { page, faults } = await visit(browser, url)
    await enter(page, gateway)
    await page.goto(`${url}/dashboard/keys?new`)
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Permissions').click()
    await dialog.getByRole('group', { name: 'Models' }).getByRole('button', { name: 'Only these' }).click()
    const models = dialog.getByRole('combobox', { name: 'Models' })
    await page.locator('datalist option[value="sandbox/echo"]').waitFor({ state: 'attached' })
    await models.pressSequentially('sandbox/echo-2')
    await models.press('Enter')
    t.same(await dialog.locator('.tag').allTextContents(), ['sandbox/echo-2'])
    // As browsers do for a chosen suggestion.
    await page.evaluate(`
      document.activeElement.value = 'sandbox/echo'
      document.activeElement.dispatchEvent(new Event('input', { bubbles: true }))`)
    await dialog.getByRole('button', { name: 'Remove sandbox/echo', exact: true }).waitFor()
    t.same(await dialog.locator('.tag').allTextContents(), ['sandbox/echo-2', 'sandbox/echo'])
    t.same(faults, [])
    await page.context().close()
  })

  t.test('every list can be continued, and everybody can be made a member', async t => {
    const place = await adminGateway(t)
    const { accounts } = place.admin
    const { id: project } = await accounts.projects.create({ name: 'Large' })
    const people = await Promise.all(Array.from({ length: 210 }, async (_, number) =>
      await accounts.users.create({ name: `Person ${number}`, role: 'member' })))
    for (const { id } of people.slice(0, 60)) await accounts.users.join(id, project)
    for (let number = 0; number < 60; number++) {
      await accounts.adminKeys.create({ name: `Program ${number}`, role: 'viewer', createdBy: 'Owner' })
    }
    const { send } = await place.user('owner')
    for (let number = 0; number < 60; number++) {
      await send('POST /admin/v1/invitations', { role: 'viewer', email: `guest-${number}@example.com` })
    }
    const { page, faults } = await visit(browser, place.api.url)
    await enter(page, place)
    const rowsIn = (name: string) => page.getByRole('table', { name, exact: true }).locator('tbody tr')
    const seen = async (name: string, address: string): Promise<void> => {
      await page.goto(`${place.api.url}/dashboard${address}`)
      const card = page.locator('.card').filter({ has: page.getByRole('table', { name, exact: true }) })
      await card.getByRole('button', { name: 'Show more' }).click()
      await eventually(async () => await rowsIn(name).count(), count => count === 60, `60 ${name}`)
      t.equal(await card.getByRole('button', { name: 'Show more' }).count(), 0, name)
    }
    await seen('Admin API keys', '/members')
    await seen('Open invitations', '/members')
    await seen('Members', `/projects/${project}`)
    await page.getByRole('button', { name: 'Add member' }).click()
    const person = page.getByLabel('Person')
    await person.getByRole('option', { name: 'Person 209' }).waitFor({ state: 'attached' })
    // without those who are members, and without the placeholder
    const all = (await accounts.users.list({ limit: 400 })).data.length
    t.equal(await person.getByRole('option').count() - 1, all - 60)
    t.same(faults, [])
    await page.context().close()
  })

  t.test('calls are filtered by every column', async t => {
    const { page, faults } = await visit(browser, url)
    await enter(page, gateway)
    await gateway.database.insertUsage([
      usageRowOf(9101, {
        call_id: 'filter-one',
        at_ms: Date.now() - 61_000,
        model: 'f/1',
        prompt_tokens: 77_777,
        streamed: 1,
        cost_nano_usd: 1
      }),
      usageRowOf(9102, {
        call_id: 'filter-two',
        at_ms: Date.now() - 60_000,
        model: 'f/2',
        prompt_tokens: 88_888,
        cost_nano_usd: null
      })
    ])
    await page.goto(`${url}/dashboard/calls`)
    const add = async (filter: string): Promise<void> => {
      await page.getByLabel('Add a filter').selectOption(filter)
    }
    for (const [set, expected] of [
      [
        async () => {
          await add('Prompt tokens')
          await page.locator(':focus').and(page.getByLabel('Prompt tokens, from')).waitFor()
          await page.keyboard.type('77777')
        },
        ['f/2', 'f/1']
      ],
      [
        async () => {
          await page.getByLabel('Prompt tokens, to').fill('80000')
        },
        ['f/1']
      ],
      [
        async () => {
          await add('Answer')
          await page.getByLabel('Answer', { exact: true }).selectOption('In one piece')
        },
        []
      ],
      [
        async () => {
          await page.getByLabel('Prompt tokens, to').fill('')
          await add('Price')
          await page.getByLabel('Price', { exact: true }).selectOption('Not known')
        },
        ['f/2']
      ]
    ] as const) {
      await set()
      const shown = async (): Promise<string> =>
        (await page.locator('tbody tr td:nth-child(3) .clip:not(.sub)').allTextContents()).join()
      await eventually(shown, models => models === expected.join(), expected.join())
    }
    t.same(await page.locator('.chip-name').allTextContents(), ['Prompt tokens', 'Answer', 'Price'])
    t.same(await accessibilityFaults(page), [])
    await page.getByRole('button', { name: 'Remove the filter Price' }).click()
    await page.waitForURL(address => !address.search.includes('priced'))
    t.equal(await page.locator('.chip').count(), 2)
    t.equal(
      await page.evaluate('document.activeElement.getAttribute("aria-label")'),
      'Add a filter',
      'focus is not lost with the button'
    )
    await page.locator('tbody a').first().click()
    await page.getByRole('heading', { name: 'Timeline' }).waitFor()
    t.same(faults, [])
    await page.context().close()
  })

  t.test('calls of a session, an end user and a tag are listed with their totals', async t => {
    const place = await adminGateway(t, { providers: [sandbox] })
    const row = {
      at_ms: Date.now() - 60_000,
      model: 'sandbox/echo',
      provider: 'sandbox',
      cost_nano_usd: 25e7
    }
    await place.database.insertUsage([
      usageRowOf(1, {
        ...row,
        call_id: 'turn-one',
        end_user: markup,
        session: 'run 7',
        tags: '["search","beta"]',
        metadata: '{"job":"4711"}'
      }),
      usageRowOf(2, { ...row, call_id: 'turn-two', end_user: markup, session: 'run 7', tags: '["search"]' }),
      usageRowOf(3, { ...row, call_id: 'other', session: 'run 8', model: 'sandbox/story' })
    ])
    const { page, faults } = await visit(browser, place.api.url)
    await enter(page, place)
    const { url: origin } = place.api
    const spend = page.locator('.stat', { hasText: 'Spend' }).locator('dd').first()
    const rows = page.locator('tbody tr')
    await page.goto(`${origin}/dashboard/calls/turn-one`)
    await page.getByText('4711').waitFor()
    await page.getByRole('link', { name: 'run 7' }).click()
    await page.getByRole('heading', { name: '2 calls, $0.5000', exact: true }).waitFor()
    const nodes = page.locator('.tree details')
    t.equal(await nodes.count(), 2, 'one tree with the steps of the session')
    await nodes.first().locator('summary').click()
    await nodes.first().getByText('Received').waitFor()
    t.match(await nodes.first().locator('summary').textContent(), /sandbox\/echo.*\$0\.2500/)
    t.same(await accessibilityFaults(page), [])
    t.match(
      await nodes.first().getByRole('link', { name: 'The call in full' }).getAttribute('href'),
      /\/calls\/[^/]+\?at=\d+$/
    )
    await page.getByRole('link', { name: 'List of its calls' }).click()
    await eventually(
      async () => await spend.textContent().catch(() => ''),
      text => text === '$0.50',
      'what the session cost'
    )
    await eventually(
      async () => await rows.count(),
      count => count === 2,
      'its calls'
    )
    t.same(await accessibilityFaults(page), [])
    await page.goto(`${origin}/dashboard/calls/turn-one`)
    await page.getByRole('link', { name: 'beta' }).click()
    await eventually(
      async () => await rows.count(),
      count => count === 1,
      'the call with this tag'
    )
    await page.getByLabel('Add a filter').selectOption('Status')
    await page.getByLabel('Status', { exact: true }).fill('200')
    await eventually(
      async () => await spend.count(),
      count => count === 0,
      'no sums for what sums cannot be narrowed by'
    )

    await page.goto(`${origin}/dashboard/?group=tag`)
    const breakdown = page.getByRole('table', { name: 'Breakdown' })
    for (const [group, names] of [
      ['Tag', ['search', 'None', 'beta']],
      ['Session', ['run 7', 'run 8']],
      ['End user', [markup, 'None']]
    ] as const) {
      await page.getByLabel('Group by').selectOption(group)
      await eventually(
        async () => (await breakdown.locator('tbody tr td:first-child').allTextContents()).join(),
        text => text === names.join(),
        names.join()
      )
    }
    await page.getByLabel('Add a filter').selectOption('Tag')
    await page
      .locator(':focus')
      .and(page.getByLabel('Tag', { exact: true }))
      .waitFor()
    await page.keyboard.type('beta')
    await eventually(
      async () => await spend.textContent(),
      text => text === '$0.25',
      'what calls with this tag cost'
    )
    t.same(await accessibilityFaults(page), [])
    const cut = page.getByText(/^Calls before .* are left out/)
    t.equal(await cut.count(), 0)
    const [now, fortyDaysMs] = [Date.now(), 40 * 86_400_000]
    await page.goto(`${origin}/dashboard/?group=end_user&tag=beta&from=${now - fortyDaysMs}&until=${now}`)
    await cut.waitFor()
    await breakdown.getByRole('link', { name: markup }).click()
    await page.waitForURL(
      address =>
        address.searchParams.get('tag') === 'beta' && address.searchParams.get('end_user') === markup
    )
    t.same(faults, [])
    await page.context().close()
  })

  t.test('an admin sees exports: which were written, which failed and which come next', async t => {
    const folder = t.testdirName
    const how = { format: 'csv', gzip: false, every: 'hour' } as const
    const place = await adminGateway(t, {
      providers: [sandbox],
      usage: {
        ...settings().usage,
        exports: {
          accounting: { ...how, directory: join(folder, 'files') },
          warehouse: { ...how, directory: join(folder, 'gone') }
        }
      }
    })
    mkdirSync(join(folder, 'files'), { recursive: true })
    const hourMs = 3_600_000
    const fromMs = Date.now() - Date.now() % hourMs - 2 * hourMs
    const store = new ExportStore(place.database)
    for (const target of ['accounting', 'warehouse']) {
      await store.add(target, { fromMs, untilMs: fromMs + hourMs }, 0)
    }
    await place.database.insertUsage([usageRowOf(1, { at_ms: fromMs + 5 })])
    await place.api.gateway.services.usageExports?.run()
    const { page, faults } = await visit(browser, place.api.url)
    await enter(page, place)
    await page.getByRole('link', { name: 'Exports' }).click()
    const rows = page.getByRole('table', { name: 'Exports' }).locator('tbody tr')
    const texts = await eventually(
      async () => await rows.allTextContents(),
      found => found.length > 3 && found[0] !== '',
      'the files and the next ones'
    )
    const has = (...patterns: readonly RegExp[]): boolean =>
      texts.some(text => patterns.every(pattern => pattern.test(text)))
    t.ok(has(/^accounting/, /\.csv1 records, /, /just now/, /written$/), texts.join(' | '))
    t.ok(has(/^warehouse/, /not written yet/, /failed1 attempt: .*ENOENT/, /next \w+ \d+, /), 'a failure')
    t.ok(has(/^accounting/, /not written yet/, /waitingnext /), 'what comes next')
    mkdirSync(join(folder, 'gone'))
    await page.getByRole('button', { name: 'Try again to write the files of warehouse' }).click()
    await page.getByText('The files of warehouse are being written').waitFor()
    // The next hour is also due once the quarter of an hour for late records has passed.
    const isWritten = (): boolean => readdirSync(join(folder, 'gone')).some(name => name.endsWith('.csv'))
    await until(isWritten, 'the file that had failed')
    t.same(await accessibilityFaults(page), [])
    t.same(faults, [])
    await page.context().close()
  })

  t.test('a call links to its trace if traces have a URL and it was sent', async t => {
    const place = await adminGateway(t, {
      providers: [sandbox],
      telemetry: { maxSampledPerSecond: 1, traceUrl: 'https://traces.example/t/{trace_id}?from=headgate' }
    })
    const traceId = 'a'.repeat(32)
    const steps = (sampled: boolean): string =>
      JSON.stringify({ trace: { trace_id: traceId, span_id: 'b'.repeat(16), sampled } })
    await place.database.insertUsage(
      [true, false].map((sampled, index) =>
        usageRowOf(index, { call_id: `sampled-${sampled}`, steps: steps(sampled) })
      )
    )
    const { page, faults } = await visit(browser, place.api.url)
    await enter(page, place)
    await page.goto(`${place.api.url}/dashboard/calls/sampled-true`)
    const link = page.getByRole('link', { name: traceId })
    t.equal(await link.getAttribute('href'), `https://traces.example/t/${traceId}?from=headgate`)
    t.same(await accessibilityFaults(page), [])
    await page.goto(`${place.api.url}/dashboard/calls/sampled-false`)
    await page.getByText(traceId).waitFor()
    t.equal(await link.count(), 0)
    t.same(faults, [])
    await page.context().close()
  })

  t.test('an admin tries guards on a text, as a request and as an answer', async t => {
    const place = await adminGateway(t, {
      providers: [sandbox],
      guards: [
        {
          name: 'tickets',
          use: 'pattern',
          at: ['request'],
          action: 'mask',
          patterns: [{ name: 'ticket', match: 'TCK-\\d{6}', maxLength: 10 }]
        },
        {
          name: 'secrets',
          use: 'pattern',
          at: ['answer'],
          action: 'refuse',
          patterns: [{ name: 'secret', match: 'hush', maxLength: 4 }]
        }
      ]
    })
    const { page, faults } = await visit(browser, place.api.url)
    await enter(page, place)
    await page.getByRole('link', { name: 'Guards' }).click()
    const button = page.getByRole('button', { name: 'Check', exact: true })
    await button.waitFor()
    t.ok(await button.isDisabled(), 'without a text there is nothing to check')
    const outcome = page.locator('form').getByRole('status')
    const left = outcome.getByLabel('the text afterwards', { exact: true })
    await page.getByLabel('Text').fill('TCK-123456, hush')
    await button.click()
    await outcome.getByText('tickets: mask 1').waitFor()
    t.equal(await left.textContent(), '[ticket], hush')
    await page.getByLabel('Checked as').selectOption('answer')
    await button.click()
    await outcome.getByText('secrets: refuse 1').waitFor()
    await outcome.getByText('The guard `secrets` refused this call: it contains secret.').waitFor()
    t.equal(await left.count(), 0)
    await page.getByLabel('Text').fill(markup)
    await button.click()
    await outcome.getByText('Nothing was found.').waitFor()
    t.equal(await left.textContent(), markup)
    t.same(await accessibilityFaults(page), [])
    t.same(faults, [])
    await page.context().close()
  })

  t.test('an admin sends a test alert to a channel and sees the result', async t => {
    let status = 500
    const { url: receiver } = await httpServer(t, (_request, response) => {
      response.writeHead(status).end()
    })
    const place = await adminGateway(t, {
      providers: [sandbox],
      alerts: {
        ...settings().alerts,
        webhooks: {
          ops: {
            url: `${receiver}/hook`,
            secret: new Secret('whsec_a2V5'),
            headers: {},
            events: ['provider.down']
          }
        }
      }
    })
    const { page, faults } = await visit(browser, place.api.url)
    await enter(page, place)
    await page.getByRole('link', { name: 'Alerts' }).click()
    await page.getByText('No alerts so far').waitFor()
    await page.getByText(`${receiver}/hook`).waitFor()
    const rows = page.getByRole('table', { name: 'Alerts' }).locator('tbody tr')
    await page.getByRole('button', { name: 'Send a test to webhooks.ops' }).click()
    await eventually(
      async () => await rows.allTextContents(),
      texts =>
        texts.length === 1 &&
        /failed ?webhooks\.ops: the receiver answered with status 500/.test(texts[0] ?? ''),
      'the test that failed'
    )
    status = 204
    await page.getByRole('button', { name: 'Send a test to webhooks.ops' }).click()
    await page.getByText('The test was sent to webhooks.ops').waitFor()
    await eventually(
      async () => await rows.allTextContents(),
      texts => texts.length === 2 && /delivered ?webhooks\.ops/.test(texts[0] ?? ''),
      'the test that was accepted'
    )
    t.same(await accessibilityFaults(page), [])
    t.same(faults, [])
    await page.context().close()
  })

  t.test(
    'tools of an MCP server run in the playground, and markup in arguments, results and errors is text',
    async t => {
      const { url: server } = await startToolServer(t)
      const place = await adminGateway(t, {
        providers: [sandbox],
        tools: {
          ...settings().tools,
          allowedHosts: ['127.0.0.1'],
          connectMs: 10_000,
          callMs: 10_000,
          loopMs: 20_000
        }
      })
      const { page, faults } = await visit(browser, place.api.url)
      await enter(page, place)
      await page.goto(`${place.api.url}/dashboard/playground?model=sandbox/echo`)
      await page.getByLabel('Tool servers').fill(server)
      await page.keyboard.press('Enter')
      await page
        .getByRole('textbox', { name: 'Message' })
        .fill(`use echo with ${JSON.stringify({ text: markup })}`)
      await page.keyboard.press('Enter')
      await page.locator('.answer-foot').waitFor()
      const tool = page.locator('.answer details', { hasText: 'echo' })
      await tool.locator('summary').click()
      t.match(await tool.textContent(), /done in .*Arguments.*Result/s)
      t.match(await tool.locator('pre').first().textContent(), 'onerror', 'the arguments are shown as text')
      t.match(await tool.locator('pre').last().textContent(), 'onerror', 'the result is shown as text')

      await page.goto(
        `${place.api.url}/dashboard/playground?model=${encodeURIComponent(`sandbox/${markup}`)}`
      )
      await page.getByRole('textbox', { name: 'Message' }).fill('Hello')
      await page.keyboard.press('Enter')
      await page.getByRole('alert').filter({ hasText: markup }).waitFor()
      t.equal(await page.title(), 'Playground · Headgate')
      t.same(faults, [])
      await page.context().close()
    }
  )

  t.test('days of charts are those of UTC, wherever the reader is', async t => {
    const place = await adminGateway(t)
    const [from, until] = [Date.UTC(2026, 2, 1), Date.UTC(2026, 2, 13)]
    await place.database.insertUsage([usageRowOf(1, { at_ms: from + 60_000, duration_ms: 119_700 })])
    const labels = []
    for (const timeZone of ['UTC', 'America/New_York', 'Pacific/Auckland']) {
      const { page, faults } = await visit(browser, place.api.url, { timeZone })
      await page.addInitScript(`
        window.drawn = []
        const { fillText } = CanvasRenderingContext2D.prototype
        CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
          drawn.push([text, Math.round(x)])
          return fillText.call(this, text, x, y)
        }`)
      await enter(page, place)
      await page.goto(`${place.api.url}/dashboard/?from=${from}&until=${until}`)
      await page.getByRole('group', { name: 'Calls', exact: true }).locator('canvas').waitFor()
      const days = "JSON.stringify([...new Set(drawn.filter(([text]) => /^[A-Z][a-z]+ \\d+$/.test(text)).map(String))])"
      labels.push(await page.evaluate(days))
      t.same(faults, [])
      await page.context().close()
    }
    t.match(labels[0], /Mar 1,.*Mar 4,/)
    t.same(labels.slice(1), [labels[0], labels[0]])
    const { page } = await visit(browser, place.api.url)
    await enter(page, place)
    await page.goto(`${place.api.url}/dashboard/calls?period=all`)
    await page.getByText('2 min 0 s').waitFor()
    await page.context().close()
  })

  t.test('the first hour of a gateway is shown by minute', async t => {
    const place = await adminGateway(t, { providers: [sandbox] })
    const minuteMs = 60_000
    const nowMs = Date.now()
    await place.database.insertUsage([
      usageRowOf(1, { at_ms: nowMs - 39 * minuteMs, model: 'a/1' }),
      usageRowOf(2, { at_ms: nowMs - minuteMs, model: 'a/1' })
    ])
    const { page, faults } = await visit(browser, place.api.url)
    await enter(page, place)
    await page.goto(`${place.api.url}/dashboard/`)
    const rows = page.getByRole('group', { name: 'Calls', exact: true }).getByRole('row')
    // From the start of the hour of the first calls until now.
    const expected = Math.ceil(
      (Date.now() - Math.floor((nowMs - 39 * minuteMs) / (60 * minuteMs)) * 60 * minuteMs) / minuteMs
    )
    await eventually(
      async () => await rows.count(),
      count => count >= expected && count <= expected + 3,
      `${expected} minutes`
    )
    t.same(faults, [])
    await page.context().close()
  })

  t.test(
    'rows link to their calls, and a key shows its spending and when its budget will run out',
    async t => {
      const place = await adminGateway(t, { providers: [sandbox] })
      const { send } = await place.user('owner')
      const {
        body: { key }
      } = await send('POST /admin/v1/keys', {
        name: 'Checkout',
        limits: { budget: { usd: 2, per: 'month' } }
      })
      const {
        body: { key: free }
      } = await send('POST /admin/v1/keys', { name: 'Search' })
      const row = { at_ms: Date.now() - 1000, provider: 'sandbox', cost_nano_usd: 2e9 }
      await place.database.insertUsage([
        usageRowOf(1, { ...row, model: 'sandbox/echo', key_id: key.id }),
        usageRowOf(2, { ...row, model: 'sandbox/story', key_id: free.id })
      ])
      const { page, faults } = await visit(browser, place.api.url)
      await enter(page, place)
      const { url: origin } = place.api
      const models = page.locator('tbody tr td:nth-child(3) .clip:not(.sub)')
      await page.goto(`${origin}/dashboard/?group=key`)
      await page
        .getByRole('table', { name: 'Breakdown' })
        .getByRole('link', { name: 'Checkout' })
        .press('Enter')
      await page.getByRole('heading', { name: 'Calls' }).waitFor()
      await models.first().waitFor()
      t.same(await models.allTextContents(), ['sandbox/echo'])
      const chosen = page.getByLabel('Key', { exact: true })
      await chosen.getByRole('option', { name: 'Checkout', selected: true }).waitFor({ state: 'attached' })
      for (const [from, name, shown] of [
        ['models', 'sandbox/story', ['sandbox/story']],
        ['models?tab=providers', 'sandbox', ['sandbox/echo', 'sandbox/story']]
      ] as const) {
        await page.goto(`${origin}/dashboard/${from}`)
        await page
          .locator('tbody')
          .getByRole('row')
          .filter({ hasText: name })
          .first()
          .locator('a')
          .first()
          .click()
        await page.getByRole('heading', { name: 'Calls' }).waitFor()
        await eventually(
          async () => (await models.allTextContents()).toSorted().join(),
          found => found === shown.join(),
          shown.join()
        )
      }
      await page.goto(`${origin}/dashboard/keys`)
      t.match(
        await page.getByRole('row').filter({ hasText: 'Checkout' }).textContent(),
        /\$2\.00\s*\$2\.00 a month.*exhausted/
      )
      t.match(
        await page.getByRole('row').filter({ hasText: 'Search' }).textContent(),
        /\$2\.00 this month.*active/
      )
      await page.goto(`${origin}/dashboard/projects`)
      await page.getByText('$4.00 this month').waitFor()
      t.equal(await page.getByText('1970').count(), 0)
      await page.goto(`${origin}/dashboard/audit`)
      await page.getByText('name: Checkout').waitFor()
      t.same(faults, [])
      await page.context().close()
    }
  )

  t.test('the overview shows tokens cached by providers, and the money saved or spent on them', async t => {
    const price = { input: 2, cachedInput: 0.5, cacheWrite: 2.5, output: 8, asOf: '2026-01-01' }
    const ids = ['sandbox/echo', 'sandbox/story']
    const place = await adminGateway(t, {
      providers: [sandbox],
      models: ids.map(id => ({ id, hidden: false, price }))
    })
    const row = { at_ms: Date.now() - 1000, provider: 'sandbox', prompt_tokens: 1_000_000 }
    await place.database.insertUsage([
      usageRowOf(1, { ...row, model: 'sandbox/echo', cached_tokens: 800_000 }),
      usageRowOf(2, { ...row, model: 'sandbox/story', cache_write_tokens: 600_000 })
    ])
    const { page, faults } = await visit(browser, place.api.url)
    await enter(page, place)
    await page.goto(`${place.api.url}/dashboard/?group=model`)
    const breakdown = page.getByRole('table', { name: 'Breakdown' })
    for (const [name, shown] of [
      ['sandbox/echo', /80 ?%.*\$1\.20 saved by the cache/],
      ['sandbox/story', /0 ?%.*Writing to the cache has cost \$0\.30 more than it saved/]
    ] as const) {
      const line = breakdown.getByRole('row').filter({ hasText: name })
      await eventually(
        async () => await line.textContent() ?? '',
        text => shown.test(text),
        `${name}: ${shown}`
      )
    }
    t.same(faults, [])
    await page.context().close()
  })

  t.test('pages open for any period in the address', async t => {
    const { page, faults } = await visit(browser, url)
    await enter(page, gateway)
    const periods = ['from=1e999&until=-1', 'from=1&until=1e999', 'from=x&until=y', 'from=2&until=1']
    for (const path of ['', 'calls']) {
      for (const period of periods) {
        await page.goto(`${url}/dashboard/${path}?${period}`)
        const title = page.getByRole('heading', { level: 1 })
        t.equal(await title.textContent(), path === '' ? 'Overview' : 'Calls', `${path}?${period}`)
      }
    }
    t.same(faults, [])
    await page.context().close()
  })

  t.test('an error is shown once, next to its field if it has one', async t => {
    const { page } = await visit(browser, url)
    await enter(page, gateway)
    await page.goto(`${url}/dashboard/keys?new`)
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Too much')
    await dialog.getByLabel('Budget').fill('-5')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    await dialog.locator('.wrong').waitFor()
    t.equal(await dialog.locator('.wrong, [role=alert]').count(), 1)
    await page.context().close()
  })

  t.test('an audit log entry can be opened by keyboard', async t => {
    const { page, faults } = await visit(browser, url)
    await enter(page, gateway)
    await page.goto(`${url}/dashboard/audit`)
    await page.getByRole('table').getByRole('button').first().press('Enter')
    await page.getByRole('dialog').waitFor()
    t.same(await accessibilityFaults(page), [])
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    t.same(faults, [])
    await page.context().close()
  })

  t.test(
    'the playground streams answers of two models side by side, and shows the request as code',
    async t => {
      const { page, faults } = await visit(browser, url)
      await enter(page, gateway)
      await page.goto(`${url}/dashboard/playground?model=sandbox/thinker`)
      await page.getByRole('button', { name: 'Compare' }).first().click()
      await page.getByLabel('Model', { exact: true }).nth(1).fill('sandbox/echo')
      await page.getByRole('textbox', { name: 'Message' }).fill(`Hello ${markup}`)
      await page.keyboard.press('Enter')
      await page.locator('.answer-foot').nth(1).waitFor()
      t.equal(await page.locator('.answer summary', { hasText: 'Thinking' }).count(), 1)
      t.match(
        await page.locator('.pane').nth(1).locator('.markdown').textContent(),
        markup,
        'an answer with markup is shown as text'
      )
      t.match(await page.locator('.answer-foot').first().textContent(), /first token .* tokens/)
      await page.getByRole('button', { name: 'As code' }).click()
      t.match(await page.getByRole('dialog').locator('pre').textContent(), /sandbox\/thinker/)
      t.same(faults, [])
      await page.context().close()
    }
  )

  t.test(
    'the next user of the browser sees neither the playground key nor the conversation of the previous one',
    async t => {
      const { page } = await visit(browser, url)
      const signedIn = page.getByRole('navigation', { name: 'Main' })
      const [first, second, third] = [
        await gateway.user('owner'),
        await gateway.user('owner'),
        await gateway.user('owner')
      ]
      const password = await hashPassword('a long enough sentence', 'test')
      for (const { user } of [first, second, third]) {
        await gateway.admin.accounts.users.update(user.id, { password })
      }
      const signIn = async ({ user }: Person): Promise<void> => {
        await page.getByLabel('Email').fill(user.email ?? '')
        await page.getByLabel('Password').fill('a long enough sentence')
        await page.keyboard.press('Enter')
        await signedIn.getByText(user.name).waitFor()
      }
      const call = async (): Promise<string> => {
        await signedIn.getByRole('link', { name: 'Playground' }).click()
        await page.getByRole('textbox', { name: 'Message' }).waitFor()
        t.equal(await page.getByText('a secret of mine').count(), 0)
        await page.getByLabel('Model', { exact: true }).fill('sandbox/echo')
        await page.getByRole('textbox', { name: 'Message' }).fill('a secret of mine')
        const sent = page.waitForRequest(request => request.url().endsWith('/v1/chat/completions'))
        await page.keyboard.press('Enter')
        const { authorization = '' } = (await sent).headers()
        await page.locator('.answer-foot').waitFor()
        return authorization.replace('Bearer ', '')
      }
      const ownerOf = async (secret: string) =>
        (await gateway.admin.keys.find(gateway.keys.check(secret)?.id ?? ''))?.created_by

      await page.goto(`${url}/dashboard/`)
      await signIn(first)
      const key = await call()
      t.equal(await ownerOf(key), first.user.name)
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('heading', { name: 'Sign in to Headgate' }).waitFor()
      t.equal(gateway.keys.check(key), undefined, 'the key is revoked')
      await signIn(second)
      t.equal(await ownerOf(await call()), second.user.name)

      await gateway.admin.accounts.sessions.endAll(second.user.id)
      await signedIn.getByRole('link', { name: 'Keys' }).click()
      await page.getByRole('heading', { name: 'Sign in to Headgate' }).waitFor()
      await signIn(third)
      t.equal(await ownerOf(await call()), third.user.name)
      await page.context().close()
    }
  )

  t.test('every other kind of request can be tried in the playground', async t => {
    const { page, faults } = await visit(browser, url)
    await page.context().grantPermissions(['microphone'])
    await enter(page, gateway)
    const open = async (tab: string): Promise<void> => {
      await page.goto(`${url}/dashboard/playground?tab=${tab}`)
      await eventually(
        async () => await page.getByLabel('Model', { exact: true }).inputValue(),
        model => model.startsWith('sandbox/'),
        'a model that suits',
        10_000
      )
    }
    const run = async (button: string): Promise<void> => {
      await page.getByRole('button', { name: button, exact: true }).click()
    }

    await open('speech')
    await run('Speak')
    await page.getByLabel('The spoken text').waitFor()
    await eventually(
      async () => await page.evaluate<number>("document.querySelector('audio').duration"),
      seconds => seconds > 0,
      'sound that plays',
      10_000
    )
    t.ok(await page.getByRole('link', { name: 'Download' }).isVisible())

    await open('transcription')
    await page
      .getByLabel('Recording')
      .setInputFiles({ name: 'said.wav', mimeType: 'audio/wav', buffer: wavOf(0.1) })
    await page.getByText(/^said\.wav, \d+ KB$/).waitFor()
    await run('Transcribe')
    await page.getByRole('button', { name: 'Copy text' }).waitFor()
    await run('Record')
    await run('Stop recording')
    await page.getByText(/^recording\.webm, /).waitFor()

    await open('images')
    const image = page.getByRole('img', { name: 'A lighthouse in a storm, woodcut' })
    for (const streamed of ['false', 'true']) {
      await page.getByLabel('stream', { exact: true }).selectOption(streamed)
      await run('Make the image')
      await image.waitFor()
      await eventually(
        async () => await page.evaluate<number>("document.querySelector('.made-images img').naturalWidth"),
        width => width > 0,
        'an image that is shown',
        10_000
      )
    }

    await open('embeddings')
    await run('Compare')
    const cells = page.getByRole('region', { name: 'Similarities' }).locator('tbody td')
    await cells.first().waitFor()
    const similarities = (await cells.allTextContents()).map(Number)
    t.equal(similarities.length, 9)
    t.ok(
      [0, 4, 8].every(index => similarities[index] === 1) &&
        similarities.every(value => value >= -1 && value <= 1),
      similarities.join(' ')
    )

    await open('ocr')
    await page.getByLabel('Document').setInputFiles({ name: 'scan.png', mimeType: 'image/png', buffer: png })
    await run('Read the document')
    await page.getByRole('heading', { name: 'Page 1', exact: true }).waitFor()
    t.same(await accessibilityFaults(page), [])
    t.same(faults, [])
    await page.context().close()
  })

  t.test('files can be attached to a message, and unsupported ones are refused with a reason', async t => {
    const { page, faults } = await visit(browser, url)
    await enter(page, gateway)
    await page.goto(`${url}/dashboard/playground?model=sandbox/echo`)
    const files = page.getByLabel('Files', { exact: true })
    await files.setInputFiles([
      { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('the sea is calm') },
      { name: 'scan.png', mimeType: 'image/png', buffer: png }
    ])
    await page.getByRole('button', { name: 'Remove scan.png' }).click()
    await files.setInputFiles({
      name: 'data.bin',
      mimeType: 'application/octet-stream',
      buffer: Buffer.from([0xff, 0xfe, 0xff])
    })
    await page.getByRole('alert').getByText('data.bin is neither text, an image, sound nor a PDF.').waitFor()
    await page.getByRole('textbox', { name: 'Message' }).fill('What does the file say?')
    await page.keyboard.press('Enter')
    await page.locator('.answer-foot').waitFor()
    t.match(await page.locator('.pane .markdown').last().textContent(), 'the sea is calm')
    t.same(faults, [])
    await page.context().close()
  })

  t.test('a model can be tried from the list of models', async t => {
    const { page, faults } = await visit(browser, url)
    await enter(page, gateway)
    await page.goto(`${url}/dashboard/models`)
    await page
      .getByRole('row')
      .filter({ hasText: 'sandbox/echo' })
      .getByRole('link', { name: 'Try' })
      .click()
    await page.getByRole('textbox', { name: 'Message' }).fill('Hello to the model')
    await page.keyboard.press('Enter')
    await page.locator('.answer-foot').waitFor()
    t.match(await page.locator('.pane .markdown').last().textContent(), 'Hello to the model')
    t.equal(await page.getByLabel('Model', { exact: true }).inputValue(), 'sandbox/echo')
    t.same(faults, [])
    await page.context().close()
  })

  const dialogs: ReadonlyArray<readonly [path: string, button: string, width?: number]> = [
    ['playground?model=sandbox/echo', 'As code'],
    ['playground?model=sandbox/echo', 'Route'],
    ['playground?model=sandbox/echo', 'Settings', 360],
    ['projects', 'Create project'],
    ['members', 'Invite'],
    ['members', 'Create']
  ]
  for (const [path, button, width = 1280] of dialogs) {
    t.test(
      `the dialog "${button}" of ${path.split('?')[0]} has no serious accessibility problem, and Escape closes it`,
      async t => {
        const { page, faults } = await visit(browser, url, { width, dark: true })
        await enter(page, gateway)
        await page.goto(`${url}/dashboard/${path}`)
        await page.getByRole('button', { name: button }).first().click()
        await page.getByRole('dialog').waitFor()
        t.same(await accessibilityFaults(page), [])
        t.ok((await overflow(page)) <= 0)
        await page.keyboard.press('Escape')
        await page.getByRole('dialog').waitFor({ state: 'detached' })
        t.same(faults, [])
        await page.context().close()
      }
    )
  }

  t.test('menu dialogs have no serious accessibility problem, and Escape closes them', async t => {
    const { user, send } = await gateway.user('owner')
    await send('POST /admin/v1/keys', { name: 'Of a menu' })
    const { page, faults } = await visit(browser, url)
    await enter(page, gateway)
    const menus = {
      keys: ['Of a menu', ['Edit', 'Rotate', 'Revoke']],
      members: [user.name, ['Change role', 'Sign-in link', 'Disable', 'Delete']]
    } as const
    for (const [path, [name, items]] of Object.entries(menus)) {
      await page.goto(`${url}/dashboard/${path}`)
      for (const item of items) {
        await page
          .getByRole('button', { name: `Actions for ${name}`, exact: true })
          .first()
          .click()
        await page.getByRole('menuitem', { name: item }).click()
        await page.getByRole('dialog').waitFor()
        t.same(await accessibilityFaults(page), [], item)
        t.equal(
          await page.evaluate<string>(
            "(style => `${style.textAlign} ${style.whiteSpace}`)(getComputedStyle(document.querySelector('.dialog')))"
          ),
          'start normal',
          'not styled by its table cell'
        )
        await page.keyboard.press('Escape')
        await page.getByRole('dialog').waitFor({ state: 'detached' })
      }
    }
    t.same(faults, [])
    await page.context().close()
  })

  t.test('a key can be created by keyboard alone, and on a phone the navigation opens', async t => {
    const { page, faults } = await visit(browser, url, { width: 360, height: 740 })
    await enter(page, gateway)
    // As on a busy processor: animation frames run after the next keys.
    await page.evaluate(
      'const later = setTimeout; requestAnimationFrame = run => later(() => run(performance.now()), 300); setTimeout = (run, ms = 0, ...more) => later(run, Math.max(ms, 300), ...more)'
    )
    await page.getByRole('button', { name: 'Menu' }).press('Enter')
    await page.getByRole('link', { name: 'Overview' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Overview' }).waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Menu' }).press('Enter')
    await page.getByRole('link', { name: 'Keys' }).press('Enter')
    await page.getByRole('main', { name: 'Keys' }).and(page.locator(':focus')).waitFor()
    await tabTo(page, 'Create key', 2) // behind the prompt to set a password, if there is one
    await page.keyboard.press('Enter')
    await page.keyboard.type('By keyboard')
    await page.keyboard.press('Enter')
    await page.getByText('Copy it now').waitFor()
    await page.keyboard.press('Escape')
    t.ok(
      await page.getByText('Copy it now').isVisible(),
      'a secret that is shown once stays visible until confirmed'
    )
    await tabTo(page, 'Done')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'By keyboard' }).waitFor()
    t.same(faults, [])
    await page.context().close()
  })

  t.test('the configuration is shown with its origins, and its file can be reviewed and saved', async t => {
    const place = await configuredGateway(t, '# ours\nusage:\n  keep_days: 30\n', true)
    const { page, faults } = await visit(browser, place.api.url)
    await enter(page, place, place.api.url)
    await page.goto(`${place.api.url}/dashboard/configuration`)
    const kept = page.getByRole('row', { name: /usage\.keep_days/ })
    await kept.getByText('file').waitFor()
    t.match(await kept.textContent(), '30')

    await page.goto(`${place.api.url}/dashboard/configuration?tab=file`)
    const editor = page.getByRole('textbox', { name: 'Configuration' })
    await editor.fill('usage:\n  ')
    await editor.press('End')
    await editor.pressSequentially('kee')
    const suggestion = page.getByRole('option', { name: /^keep_days/ })
    await suggestion.waitFor()
    t.same(await accessibilityFaults(page), [], 'with suggestions')
    await editor.press('Tab')
    t.equal(await editor.inputValue(), 'usage:\n  keep_days: ', 'the schema completes the text being typed')
    await suggestion.waitFor({ state: 'hidden' })
    await editor.fill('# ours\nusage:\n  keep_dayz: 31\n')
    await page.getByRole('button', { name: 'Review changes' }).click()
    await page.getByText('usage.keep_dayz').first().waitFor()
    const corrected = withResolvers<void>()
    await page.route(
      '**/configuration/check',
      async route => {
        await corrected.promise
        await route.continue()
      },
      { times: 1 }
    )
    await editor.fill('# ours\nusage:\n  keep_dayz: 32\n')
    const late = page.waitForResponse('**/configuration/check')
    await page.getByRole('button', { name: 'Review changes' }).click()
    await editor.fill('# ours\nusage:\n  keep_days: 31\n')
    corrected.resolve()
    await (await late).finished()
    await page.locator('button[aria-busy=true]').waitFor({ state: 'detached' })
    t.equal(
      await page.getByText('usage.keep_dayz').count(),
      0,
      'problems of an older text are not shown for a newer one'
    )
    await page.getByRole('button', { name: 'Review changes' }).click()
    t.match(await page.getByRole('region', { name: 'Difference' }).textContent(), 'keep_days: 31')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Configuration saved').waitFor()
    t.match(readFileSync(place.file, 'utf8'), 'keep_days: 31')
    t.same(await accessibilityFaults(page), [])
    t.same(faults, [])
    await page.context().close()
  })

  const refused = {
    viewer: ['keys', 'calls', 'playground', 'tools', 'exports', 'configuration', 'members', 'audit'],
    member: ['exports', 'configuration', 'members', 'audit']
  } as const
  for (const role of ['viewer', 'member'] as const) {
    t.test(`a ${role} sees the pages of the role, and no others`, async t => {
      const { page, faults } = await visit(browser, url)
      await become(page, await gateway.user(role))
      await page.goto(`${url}/dashboard/`)
      await page.getByRole('link', { name: 'Overview' }).waitFor()
      t.equal(await page.getByRole('link', { name: 'Keys' }).count(), role === 'viewer' ? 0 : 1)
      for (const path of refused[role]) {
        await page.goto(`${url}/dashboard/${path}`)
        await page.getByText('Your role does not include this page').waitFor()
      }
      t.same(faults, [])
      await page.context().close()
    })
  }

  const looks: ReadonlyArray<readonly [name: string, options: VisitOptions]> = [
    ['in light, on a telephone', { width: 360, height: 740 }],
    ['in dark, on a desktop', { dark: true }],
    ['in light, on a wide screen', { width: 2560, height: 1400 }]
  ]
  for (const [name, options] of looks) {
    t.test(
      `every page ${name}: no serious accessibility problem, nothing cut off, no policy violation`,
      async t => {
        const view = await visit(browser, url, options)
        await enter(view.page, gateway)
        for (const path of [
          '',
          'keys',
          'keys?new',
          'calls',
          'playground',
          'playground?tab=images',
          'models',
          'tools',
          'alerts',
          'exports',
          'configuration',
          'projects',
          'projects/default',
          'members',
          'audit',
          'profile',
          'nowhere'
        ]) {
          await look(t, view, `${url}/dashboard/${path}`, options.width === 2560)
        }
        await view.page.context().close()
      }
    )
  }
})

/** @param isWide content for screen readers is the same as at another width */
async function look (t: Test, { page, faults }: Visit, address: string, isWide: boolean): Promise<void> {
  await page.goto(address)
  await page.locator('h1').first().waitFor()
  await page.locator('.skeleton').first().waitFor({ state: 'detached' })
  if (!isWide) t.same(await accessibilityFaults(page), [], address)
  t.ok((await overflow(page)) <= 0, `${address} fits`)
  t.same(faults, [], address)
}

/** Presses Tab until a button has the focus, once it exists. */
async function tabTo (page: Page, button: string, maxPresses = 40): Promise<void> {
  await page.getByRole('button', { name: button, exact: true }).first().waitFor()
  for (let presses = 0; presses <= maxPresses; presses++) {
    if ((await page.evaluate('document.activeElement?.textContent')) === button) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`the button "${button}" is not reached by Tab`)
}

/** Signs the pages of a browser in as a user. */
async function become (page: Page, { cookie, csrf }: Person): Promise<void> {
  const [name = '', value = ''] = cookie.split('=')
  await page.context().addCookies([{ name, value, domain: '127.0.0.1', path: '/admin' }])
  await page.context().addInitScript(`localStorage.setItem('csrf_token', '${csrf}')`)
}

/** Signs the owner in. */
async function enter (page: Page, { api, admin }: AdminGateway, url = api.url): Promise<void> {
  const { token } = await admin.accounts.createOwnerLink()
  await page.goto(`${url}/dashboard/#/link/${token}`)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.locator('main#content').waitFor()
}
