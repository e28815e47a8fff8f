import t from 'tap'
import sharp from 'sharp'
import { checkImageFile, imageKind, imageSize, pngSize } from '../../lib/images/files.ts'
import type { UploadedFile } from '../../lib/core/upload.ts'

function png (width: number, height: number): Buffer {
  const bytes = Buffer.from('89504e470d0a1a0a0000000d494844520000000000000000', 'hex')
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes
}

const jpeg = Buffer.from('ffd8ffe000104a46494600', 'hex')
const webp = Buffer.from('RIFF\0\0\0\0WEBPVP8 ', 'latin1')

t.test('PNG, JPEG and WebP are recognised by their first bytes at any buffer offset', async t => {
  const inside = Buffer.concat([Buffer.alloc(3), png(1, 1)]).subarray(3)
  t.same(
    [inside, jpeg, webp].map(bytes => imageKind(new Uint8Array(bytes))?.extension),
    ['png', 'jpg', 'webp']
  )
  t.same(
    [inside, jpeg, webp].map(bytes => imageKind(bytes)?.mediaType),
    ['image/png', 'image/jpeg', 'image/webp']
  )
})

t.test('other bytes are not an image', async t => {
  for (const bytes of ['', 'GIF89a', 'RIFF\0\0\0\0WAVEfmt ', '\x89PNG', '<svg></svg>']) {
    t.equal(imageKind(Buffer.from(bytes, 'latin1')), undefined, bytes)
  }
})

t.test('the size of a PNG is read from its header', async t => {
  t.same(pngSize(png(640, 480)), { width: 640, height: 480 })
  t.equal(pngSize(png(640, 480).subarray(0, 23)), undefined, 'which has to be there')
  const other = png(1, 1)
  other.write('IDAT', 12)
  t.equal(pngSize(other), undefined)
  t.equal(pngSize(Buffer.concat([jpeg, Buffer.alloc(40)])), undefined)
})

t.test('image sizes are read as real encoders write them', async t => {
  const opaque = sharp({ create: { width: 321, height: 123, channels: 3, background: 'teal' } })
  const transparent = sharp({
    create: { width: 321, height: 123, channels: 4, background: { r: 9, g: 9, b: 9, alpha: 0.5 } }
  })
  const images = {
    png: opaque.clone().png(),
    jpeg: opaque.clone().jpeg(),
    progressive: opaque
      .clone()
      .jpeg({ progressive: true })
      .withExif({ IFD0: { Copyright: 'x'.repeat(5000) } }),
    lossy: opaque.clone().webp(),
    lossless: opaque.clone().webp({ lossless: true }),
    extended: transparent.clone().webp()
  }
  for (const [name, image] of Object.entries(images)) {
    t.same(imageSize(await image.toBuffer()), { width: 321, height: 123 }, name)
  }
  for (const bytes of [
    Buffer.alloc(0),
    jpeg,
    webp,
    Buffer.concat([webp, Buffer.alloc(5)]),
    Buffer.concat([Buffer.from('RIFF\0\0\0\0WEBPANIM', 'latin1'), Buffer.alloc(40)]),
    Buffer.concat([jpeg, Buffer.alloc(90, 0xff)])
  ]) {
    t.equal(imageSize(bytes), undefined)
  }
})

t.test('a family accepts all three formats, or only square PNGs below 4 MB', async t => {
  const check =
    (head: Buffer, files: 'any' | 'square_png', sizeBytes = 10) =>
    () =>
      checkImageFile(
        { name: 'a', head, mediaType: '', sizeBytes, open: async function* () {} } satisfies UploadedFile,
        'image',
        { files }
      )
  t.doesNotThrow(check(jpeg, 'any'))
  t.doesNotThrow(check(png(1, 2), 'any', 50_000_000))
  t.doesNotThrow(check(png(8, 8), 'square_png', 4 * 1024 * 1024 - 1))
  t.throws(check(Buffer.from('GIF89a'), 'any'), {
    code: 'unsupported_format',
    param: 'image',
    message: '`image` must be a PNG, JPEG or WebP image.'
  })
  t.throws(check(jpeg, 'square_png'), { code: 'unsupported_format', message: '`image` must be a PNG.' })
  t.throws(check(png(8, 9), 'square_png'), {
    code: 'invalid_value',
    message: '`image` must be square, not 8x9.'
  })
  t.throws(check(png(8, 8), 'square_png', 4 * 1024 * 1024), {
    code: 'file_too_large',
    message: '`image` must be smaller than 4 MB.'
  })
})
