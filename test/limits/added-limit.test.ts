/**
 * Adds rows to the limit table of a copy of the built gateway, and checks that everything else follows,
 * including a limit in milliseconds that is counted in seconds.
 */

import t from 'tap'
import { changeBuild, copyBuild } from '../support/copied-build.ts'
import { wavOf } from '../support/forms.ts'
import { directoryOf, launch } from '../support/headgate.ts'
import { shortRun } from '../support/rounds.ts'
import type { Test } from 'tap'

const rows = `
  audio_seconds_per_day: {
    unit: 'audio_ms', counting: 'sum', per: 'day', maximum: 1_000_000, refusal: 'audio',
    allows: 'seconds of audio per day, in UTC', allowsOne: 'second of audio per day, in UTC',
    description: 'Seconds.', help: 'seconds', label: 'Audio'
  },
  pages_per_minute: {
    unit: 'pages', counting: 'rate', maximum: 1_000_000, refusal: 'pages',
    allows: 'pages per minute', allowsOne: 'page per minute',
    description: 'Pages.', help: 'pages', label: 'Pages'
  },
  images_per_month: {
    unit: 'images', counting: 'sum', per: 'month', maximum: 1_000_000, refusal: 'month_images',
    allows: 'images per month, in UTC', allowsOne: 'image per month, in UTC',
    description: 'Images.', help: 'images', label: 'Images'
  },`

async function keyWith (t: Test, folder: string, main: string, ...options: string[]): Promise<string> {
  const args = ['keys', 'create', '--name', options.join(' ').slice(2), ...options]
  const { code, out, error } = await launch(t, args, folder, {}, [main]).ended
  t.equal(code, 0, error)
  return /hg_\S+/.exec(out)?.[0] ?? ''
}

t.test('adding a limit takes one row', { skip: shortRun }, async t => {
  const folder = directoryOf(t)
  const main = copyBuild(folder)
  changeBuild(folder, 'schemas/config/counted-limits.js', 'countedLimits = {', `countedLimits = {${rows}`)
  const listener = await keyWith(t, folder, main, '--audio-seconds-per-day', '2')
  const reader = await keyWith(t, folder, main, '--pages-per-minute', '1')
  const painters = [
    [await keyWith(t, folder, main, '--images-per-day', '1'), 'day'],
    [await keyWith(t, folder, main, '--images-per-month', '1'), 'month']
  ] as const
  const gateway = launch(t, ['start'], folder, { PORT: '0' }, [main])
  const [, url = ''] = await gateway.line(/^Headgate listens on (\S+)$/)
  const ask = async (key: string, path: string, body?: FormData | object): Promise<[number, string]> => {
    const isForm = body instanceof FormData
    const answer = await fetch(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${key}`, ...!isForm && { 'content-type': 'application/json' } },
      ...body !== undefined && { body: isForm ? body : JSON.stringify(body) }
    })
    return [answer.status, await answer.text()]
  }
  const transcribe = async (): Promise<[number, string]> => {
    const form = new FormData()
    form.set('model', 'sandbox/listener')
    form.set('response_format', 'verbose_json')
    form.set('file', new Blob([wavOf(2)]), 'a.wav')
    return await ask(listener, '/v1/audio/transcriptions', form)
  }
  const limitsOf = async (key: string): Promise<object> => {
    const [, text] = await ask(key, '/v1/key')
    return JSON.parse(text) as object
  }

  t.match(await limitsOf(listener), {
    limits: [{ name: 'audio_seconds_per_day', limit: 2, remaining: 2, window: 'day' }]
  })
  t.equal((await transcribe())[0], 200)
  const [status, text] = await transcribe()
  t.equal(status, 429, text)
  t.match(text, /This API key allows 2 seconds of audio per day, in UTC\./)
  t.match(await limitsOf(listener), { limits: [{ name: 'audio_seconds_per_day', limit: 2, remaining: 0 }] })

  const read = async (): Promise<[number, string]> => await ask(reader, '/v1/ocr', {
    model: 'sandbox/reader',
    document: { type: 'image_url', image_url: 'data:image/png;base64,iVBORw0KGgo=' }
  })
  const [first, page] = await read()
  t.equal(first, 200, page)
  const [again, reason] = await read()
  t.equal(again, 429, reason)
  t.match(reason, /This API key allows 1 page per minute\./)
  t.match(await limitsOf(reader), { limits: [{ name: 'pages_per_minute', limit: 1 }] })

  // Two limits with the same unit and the same way of counting.
  for (const [key, window] of painters) {
    const paint = async (): Promise<[number, string]> => await ask(key, '/v1/images/generations', {
      model: 'sandbox/painter', prompt: 'a tree'
    })
    const [painted, image] = await paint()
    t.equal(painted, 200, image)
    t.match((await paint())[1], `This API key allows 1 image per ${window}, in UTC.`)
    const name = `images_per_${window}`
    t.match(await limitsOf(key), { limits: [{ name, limit: 1, remaining: 0, window }] })
  }

  const [, description] = await ask(listener, '/openapi.json')
  t.match(description, '"audio_seconds_per_day"')
  const help = await launch(t, ['keys', '--help'], folder, {}, [main]).ended
  t.match(help.out, /--audio-seconds-per-day N +seconds/)
})
