/**
 * The style and the script of the page.
 *
 * @module
 */
import type { Hashed } from "../../look/document.ts";
import { BASE } from "../../look/style.ts";

/** One column on phones. On larger screens, the ways to connect stay in view beside what the server offers. */
const TEXT =
  `${BASE}body{background:linear-gradient(color-mix(in srgb,var(--accent) 9%,var(--back)),var(--back) 22rem) no-repeat}main{max-width:70rem;margin:0 auto;padding:clamp(1.5rem,5vw,4rem) clamp(1rem,4vw,2rem);display:grid;gap:2.5rem}` +
  "header img{display:block;height:3.5rem;max-width:12rem;object-fit:contain;object-position:left;margin-bottom:1.25rem}" +
  "header h1{font-size:clamp(1.75rem,4vw,2.5rem);margin:0;letter-spacing:-.025em}small{font-weight:400;color:var(--soft);letter-spacing:0}" +
  "h1 small{font-size:1rem;white-space:nowrap}header p{margin:.75rem 0 0;max-width:44rem;white-space:pre-line}.lead{font-size:1.125rem;color:var(--soft)}" +
  "h2{margin:0 0 1rem}section+section{margin-top:2.5rem}header details{margin-top:1rem;max-width:44rem}" +
  'summary{cursor:pointer;list-style:none}summary::-webkit-details-marker{display:none}summary::after{content:"";float:right;width:.5rem;height:.5rem;margin:.375rem 0 0 1rem;border:solid var(--soft);border-width:0 2px 2px 0;transform:rotate(45deg)}[open]>summary::after{transform:translateY(.25rem) rotate(-135deg)}:is(header,.group)>*>summary::after,.group>summary::after{float:none;display:inline-block;margin:0 0 .125rem .625rem}' +
  ".card,.list{border:1px solid var(--line);border-radius:1rem;background:var(--back)}.card{padding:1.25rem;align-self:start;box-shadow:0 .5rem 2rem -1rem #0003}.card h3{font-size:.875rem;margin:1.25rem 0 .375rem}" +
  ".copy{position:relative;display:block;border:1px solid var(--line);border-radius:var(--round);background:var(--side);padding:.625rem .75rem;white-space:pre-wrap;overflow-wrap:anywhere;margin:0}" +
  ".copy button{float:right;margin:-.25rem -.375rem 0 .5rem;padding:.0625rem .625rem;font:500 .8125rem/1.6 system-ui,sans-serif;white-space:nowrap}" +
  ".links{display:flex;flex-wrap:wrap;gap:.75rem;margin:.75rem 0 0}.links a{flex:1;white-space:nowrap}.card details{margin-top:1.25rem}.card summary{font-weight:500;font-size:.875rem}.card details pre{margin-top:.75rem}" +
  ".card p{font-size:.875rem;color:var(--soft);margin:.75rem 0 0}" +
  ".list{list-style:none;margin:0;padding:0;overflow:hidden}.list>li+li{border-top:1px solid var(--line)}" +
  ".list summary,.list div{padding:.875rem 1.25rem}.list summary{position:relative;padding-right:3rem}.list summary::after{position:absolute;right:1.25rem;top:1rem;margin:0}.list summary:hover{background:var(--side)}.list h3{font-size:1rem;margin:0;display:inline}" +
  ".list :is(code,b,em){color:var(--soft);font-size:.8125rem;font-style:normal;font-weight:400}em,b{border:1px solid var(--line);border-radius:1rem;padding:.0625rem .5rem;white-space:nowrap}" +
  ".about{display:block;color:var(--soft);margin-top:.25rem;white-space:pre-line}details:not([open])>summary .about{display:-webkit-box;-webkit-line-clamp:3;-webkit-box-orient:vertical;overflow:hidden}" +
  ".list dl{margin:0;padding:0 1.25rem 1rem}.list dl div{padding:.625rem 0;border-top:1px solid var(--line)}.list dt code:first-child{color:var(--text)}.list dd{margin:.125rem 0 0;font-size:.875rem;color:var(--soft)}" +
  ".group{margin-top:1rem}.group>summary{font-weight:500;padding:.5rem 0}footer{color:var(--soft);font-size:.875rem}" +
  "@media(min-width:60rem){main{grid-template-columns:minmax(0,1fr) 24rem}header,footer{grid-column:1/-1}.card{grid-column:2;grid-row:2;position:sticky;top:1.5rem;max-height:calc(100vh - 3rem);overflow:auto}}";

/** The style of the page. */
export const STYLE: Hashed = { text: TEXT, hash: "Wxooaxm1tt7QxDN4heAapuNODgbDgGOc5Fj9nM0mpGc=" };

/**
 * Shows the copy buttons, which do nothing without this script. If the clipboard is unavailable, selects the text instead, so
 * that the user can copy it with the keyboard.
 */
const CODE =
  'for(const b of document.querySelectorAll(".copy button")){b.hidden=false;b.onclick=async()=>{const t=b.nextSibling,s=document.querySelector("[role=status]");' +
  'try{await navigator.clipboard.writeText(t.textContent);b.textContent=s.textContent="Copied";setTimeout(()=>{b.textContent="Copy";s.textContent=""},2e3)}catch{getSelection().selectAllChildren(t)}}}';

/** The script of the page. */
export const SCRIPT: Hashed = { text: CODE, hash: "E1AsbDP6z3vO1zjmUf+oJk73iHGTDucgO9XbFJIfeUM=" };
