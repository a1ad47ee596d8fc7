"""The report: one HTML file that needs nothing but a browser.

In: a map and the findings of its audit. Out: a page with its data, style and script inside. Never:
asks the network for anything, or lets crawled text be anything but text.

Theory of operation. Python writes the data as JSON into an element that no browser runs, with every
`<` escaped, so that nothing in it can end the element. The script builds the page from it with
`textContent` and attributes only, never from markup. A content security policy forbids all else:
the one style and the one script are allowed by their hashes, and no address may be asked at all.
"""
