/** PDF files, written by hand, so that tests know their contents. */

/** Makes a PDF of one page per list of lines, each line in 18 point Helvetica. */
export function textPdf (pages: ReadonlyArray<readonly string[]>): Buffer {
  const font = '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>'
  return pdf(
    pages.map(lines => ({
      content: `BT /F1 18 Tf 72 720 Td 28 TL ${lines.map(line => `(${line.replace(/[\\()]/g, '\\$&')}) Tj T*`).join(' ')} ET`,
      resources: '<< /Font << /F1 3 0 R >> >>'
    })),
    font
  )
}

/** Makes a PDF of one page that is only an image, as scanners make them. */
export function scannedPdf (jpeg: Buffer, width: number, height: number): Buffer {
  const image = Buffer.concat([
    Buffer.from(
      `<< /Type /XObject /Subtype /Image /Width ${width} /Height ${height} /ColorSpace /DeviceRGB ` +
        `/BitsPerComponent 8 /Filter /DCTDecode /Length ${jpeg.length} >>\nstream\n`
    ),
    jpeg,
    Buffer.from('\nendstream')
  ])
  return pdf(
    [{ content: 'q 612 0 0 792 0 0 cm /I1 Do Q', resources: '<< /XObject << /I1 3 0 R >> >>' }],
    image
  )
}

/** Makes a PDF of one page with already deflated content. */
export function deflatedPdf (content: Buffer): Buffer {
  return pdf([{ content, filter: '/Filter /FlateDecode ', resources: '<< >>' }], '<< >>')
}

interface Page {
  readonly content: string | Buffer
  readonly filter?: string
  readonly resources: string
}

/** @param third the object shared by all pages */
function pdf (pages: readonly Page[], third: string | Buffer): Buffer {
  const objects: Array<string | Buffer> = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${pages.map((_, index) => `${4 + 2 * index} 0 R`).join(' ')}] /Count ${pages.length} >>`,
    third
  ]
  for (const { content, filter = '', resources } of pages) {
    const next = objects.length + 2
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${next} 0 R /Resources ${resources} >>`,
      Buffer.concat([
        Buffer.from(`<< ${filter}/Length ${content.length} >>\nstream\n`),
        Buffer.from(content),
        Buffer.from('\nendstream')
      ])
    )
  }
  const pieces: Buffer[] = [Buffer.from('%PDF-1.4\n')]
  const offsets: number[] = []
  let at = 9
  const add = (piece: Buffer): void => {
    pieces.push(piece)
    at += piece.length
  }
  for (const [index, object] of objects.entries()) {
    offsets.push(at)
    add(Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), Buffer.from(object), Buffer.from('\nendobj\n')]))
  }
  const rows = offsets.map(offset => `${String(offset).padStart(10, '0')} 00000 n \n`).join('')
  const size = objects.length + 1
  pieces.push(
    Buffer.from(
      `xref\n0 ${size}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${at}\n%%EOF\n`
    )
  )
  return Buffer.concat(pieces)
}
