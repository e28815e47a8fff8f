import t from 'tap'
import { MediaStrings, standsForMedia } from '../../lib/json/media-strings.ts'
import { parseInSlices } from '../../lib/json/parse-in-slices.ts'
import { printInSlices } from '../../lib/json/print-in-slices.ts'
import { bufferBody } from '../../lib/wire/buffer-body.ts'
import { countTurns } from '../support/turns.ts'

const base64 = (bytes: number): string => Buffer.alloc(bytes, 'what a picture shows?').toString('base64')
const image = `data:image/png;charset=x;base64,${base64(2_000_000)}==`

async function parsed (text: string, media: MediaStrings): Promise<unknown> {
  return await parseInSlices(Buffer.from(text), 10, { media })
}

t.test('a placeholder for media begins like the media and is replaced by it when printed', async t => {
  const media = new MediaStrings()
  const value = (await parsed(JSON.stringify({ image, bare: base64(1_500_000), text: 'a' }), media)) as {
    image: string
    bare: string
    text: string
  }
  t.ok([value.image, value.bare].every(text => text.length < 5000 && standsForMedia(text)))
  t.notOk(standsForMedia(value.text))
  t.ok(image.startsWith(value.image.slice(0, 4096)))
  t.ok(media.bytesOf(value.image)?.equals(Buffer.from(image)))
  t.equal(media.bytesOf(image), undefined)
  const data = (url: string): string => url.slice(url.indexOf(',') + 1)
  // A mark that is cut by the end of a printed piece: pieces have 128 KiB or a little more.
  for (const fill of ['', 'ä'.repeat(100_000), 'x'.repeat(126_000), 'x'.repeat(128_000)]) {
    const print = async (image: string, bare: string): Promise<Buffer> =>
      await bufferBody(() =>
        printInSlices(
          {
            fill,
            parts: [image, { data: data(image) }, image],
            nested: JSON.stringify({ fill, bare, end: fill }),
            put: `data:a/b;base64,${bare}`,
            last: image
          },
          media
        )
      )
    t.ok(
      (await print(value.image, value.bare)).equals(await print(image, base64(1_500_000))),
      `${fill.length}`
    )
  }
})

t.test('slashes may be escaped, wherever the string is cut', async t => {
  const media = new MediaStrings()
  for (const shift of [0, 1, 2, 3]) {
    const text = `"data:image\\/png;base64,${'A'.repeat(shift)}${'\\/'.repeat(1_200_000)}"`
    const value = await parsed(text, media)
    t.ok(standsForMedia(String(value)))
    const printed: unknown = JSON.parse((await bufferBody(() => printInSlices([value], media))).toString())
    t.ok(Object(printed)[0] === JSON.parse(text), `${shift}`)
  }
})

t.test('every other string is unchanged', async t => {
  const long = 'A'.repeat(1_500_000)
  const rows: Readonly<Record<string, string>> = {
    'a text': 'word '.repeat(300_000),
    'a text whose beginning is base64': `${long} and words`,
    'a text in base64': `data:text/plain;base64,${long}`,
    'an address': `https://example.com/${long}`,
    'not in base64': `data:image/png,${long}`,
    'other escapes': `${long}\n`,
    'an escaped backslash before a slash': `${long}${'\\/'.repeat(3000)}`,
    'a letter beyond ASCII': `${long}ä`
  }
  for (const [name, text] of Object.entries(rows)) {
    t.ok(
      (await parsed(JSON.stringify([text]), new MediaStrings()).then(value => Object(value)[0])) === text,
      name
    )
  }
  for (const text of [`["${long}\\"]`, `["${long}\\x"]`, `["${long}\n"]`]) {
    await t.rejects(parsed(text, new MediaStrings()), SyntaxError)
  }
})

t.test('other work continues while media is scanned and printed', async t => {
  const turns = countTurns(t)
  const media = new MediaStrings()
  const value = await parsed(JSON.stringify(base64(20_000_000)), media)
  t.ok(turns() > 20, `${turns()} turns`)
  const before = turns()
  await bufferBody(() => printInSlices(value, media))
  t.ok(turns() - before > 100, `${turns() - before} turns`)
})
