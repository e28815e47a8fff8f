/** The mark: two posts, a beam, and water below it. */

import type { JSX } from 'preact'

export function Mark (): JSX.Element {
  return (
    <svg
      viewBox='0 0 24 24'
      fill='none'
      stroke='currentColor'
      stroke-width='2'
      stroke-linecap='round'
      aria-hidden='true'
    >
      <path d='M4.5 3v18M19.5 3v18M4.5 8h15' />
      <path
        d='M8.5 13c1.2 0 1.2 1.2 2.3 1.2S12 13 13.2 13s1.2 1.2 2.3 1.2M8.5 18c1.2 0 1.2 1.2 2.3 1.2S12 18 13.2 18s1.2 1.2 2.3 1.2'
        stroke-width='1.6'
      />
    </svg>
  )
}
