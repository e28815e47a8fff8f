/** Icons of 16 by 16, drawn with one line weight. They are decoration: what they mean is written beside them. */

import type { JSX } from 'preact'

const drawings = {
  overview: 'M2.5 13.5v-5M6.2 13.5v-9M9.8 13.5v-6M13.5 13.5v-11',
  key: 'M9.7 6.3 14 2M12 4l1.5 1.500M6.5 6.500a3.2 3.2 0 1 0 3 3 3.2 3.2 0 0 0-3-3Z',
  calls: 'M2.5 4h11M2.5 8h11M2.5 12h7',
  play: 'M4.5 3v10l8-5z',
  stop: 'M4 4h8v8H4z',
  models: 'M8 1.8 13.5 5v6L8 14.2 2.5 11V5zM2.7 5.1 8 8.200l5.3-3.100M8 8.200v5.8',
  tools: 'M9.5 3.500a3 3 0 0 1 3.8-.9L11.5 4.400l.1 1.7 1.6.1 1.7-1.800a3 3 0 0 1-4 3.800L6 13a1.6 1.6 0 0 1-2.3-2.300L8.5 6a3 3 0 0 1 1-2.500Z',
  project: 'M2 4.500a1 1 0 0 1 1-1h3l1.5 1.500H13a1 1 0 0 1 1 1v5.500a1 1 0 0 1-1 1H3a1 1 0 0 1-1-1z',
  people: 'M6 7.500a2.3 2.3 0 1 0 0-4.6 2.3 2.3 0 0 0 0 4.600ZM1.8 13c.3-2.3 2-3.7 4.2-3.700s3.9 1.4 4.2 3.700M10.5 3.200a2.2 2.2 0 0 1 0 4.100M12 9.600c1.3.5 2.1 1.7 2.3 3.4',
  audit: 'M4 1.800h5.500L12.5 5v9.200H4zM9.3 1.800V5.200h3.200M6 8.300h4.500M6 11h4.5',
  settings: 'M2 4.500h7M12 4.500h2M2 11.500h2M7 11.500h7M10.5 3v3M5.5 10v3',
  plus: 'M8 3v10M3 8h10',
  close: 'm4 4 8 8M12 4l-8 8',
  check: 'm3 8.5 3.3 3.300L13 4.8',
  copy: 'M5.5 5.500V3.200a.7.7 0 0 1 .7-.7h6.600a.7.7 0 0 1 .7.7v6.600a.7.7 0 0 1-.7.7h-2.300M3.2 5.500h6.600a.7.7 0 0 1 .7.7v6.600a.7.7 0 0 1-.7.7H3.200a.7.7 0 0 1-.7-.7V6.200a.7.7 0 0 1 .7-.7Z',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  search: 'M7 11.500a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.3 10.3 13.5 13.5',
  down: 'm4 6 4 4 4-4',
  right: 'm6 4 4 4-4 4',
  left: 'm10 4-4 4 4 4',
  menu: 'M2.5 4.500h11M2.5 8h11M2.5 11.500h11',
  warning: 'M8 2.2 14.5 13.500h-13zM8 6.500v3.200M8 11.600h.01',
  info: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 7.500v3.300M8 5.200h.01',
  sun: 'M8 10.800a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.600ZM8 1.500v1.300M8 13.200v1.300M1.5 8h1.300M13.2 8h1.300M3.4 3.400l.9.9M11.7 11.700l.9.9M12.6 3.400l-.9.9M4.3 11.700l-.9.9',
  moon: 'M13.3 9.600A5.6 5.6 0 0 1 6.4 2.700a5.6 5.6 0 1 0 6.9 6.900Z',
  screen: 'M2 3h12v8H2zM6 13.500h4M8 11v2.5',
  out: 'M6.5 2.500H3v11h3.500M10 5l3 3-3 3M13 8H6.5',
  download: 'M8 2.500v7.500M4.8 7 8 10.2 11.2 7M2.5 13.500h11',
  refresh: 'M13 8a5 5 0 1 1-1.5-3.600L13 5.800M13 2.500v3.300H9.7',
  attach: 'm13 7.3-5.3 5.300a3.3 3.3 0 0 1-4.7-4.700l5.5-5.500a2.2 2.2 0 0 1 3.1 3.100L6.2 10.900a1 1 0 0 1-1.5-1.500l4.8-4.8',
  send: 'M8 13.500v-11M3.5 7 8 2.5 12.5 7',
  split: 'M2.5 3h11v10h-11zM8 3v10',
  code: 'm5 4.5-3.5 3.500L5 11.500M11 4.500l3.5 3.5-3.5 3.5',
  trash: 'M2.5 4h11M6 4V2.500h4V4M4 4l.7 9.500h6.600L12 4',
  edit: 'm10.5 3 2.5 2.5-7.5 7.500H3v-2.500z',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 4.800V8l2.2 1.5',
  image: 'M2.5 3h11v10h-11zM2.5 11l3.3-3.3 3.2 3.2 1.8-1.8 2.7 2.700M10.5 6h.01',
  sound: 'M2.5 6v4H5l3.5 3V3L5 6zM11 5.800a3 3 0 0 1 0 4.400M12.8 4a5.5 5.5 0 0 1 0 8',
  microphone: 'M8 9.800a2 2 0 0 0 2-2v-3.600a2 2 0 0 0-4 0v3.600a2 2 0 0 0 2 2ZM4 7.800a4 4 0 0 0 8 0M8 11.800v2.2',
  idea: 'M6 12h4M6.7 14h2.600M8 2a4 4 0 0 0-2.3 7.300c.4.3.6.7.6 1.200h3.400c0-.5.2-.9.6-1.200A4 4 0 0 0 8 2Z',
  lock: 'M3.5 7.500h9v6h-9zM5.5 7.500v-2a2.5 2.5 0 0 1 5 0v2',
  link: 'M6.8 9.200a2.5 2.5 0 0 0 3.6 0l2.3-2.300a2.5 2.5 0 0 0-3.6-3.600l-.8.8M9.2 6.800a2.5 2.5 0 0 0-3.6 0L3.3 9.100a2.5 2.5 0 0 0 3.6 3.600l.8-.8'
} as const

export type IconName = keyof typeof drawings

export function Icon ({ name, size = 16 }: { readonly name: IconName, readonly size?: number }): JSX.Element {
  const weight = name === 'more' ? 2.2 : 1.4
  return (
    <svg
      width={size} height={size} viewBox='0 0 16 16' fill='none' stroke='currentColor' stroke-width={weight}
      stroke-linecap='round' stroke-linejoin='round' aria-hidden='true'
    >
      <path d={drawings[name]} />
    </svg>
  )
}
